/** Chooses what the next job of a producer does and with which options it is enqueued. */
import type { EnqueueOptions } from '@fenceline/nestjs';
import type { Asked } from '../history/entry.js';
import type { Random } from '../random.js';
import type { Task } from './protocol.js';
import type { TaskPayload } from './task-handlers.js';

/** So few that several jobs want the same one at once. */
const KEYS = 6;
/** Their jobs take long, so that a pause often meets one. */
const ROWS = 20;
const MAX_ATTEMPTS = 20;
const FEW_ATTEMPTS = 3;

export interface PlannedJob {
  readonly jobId: string;
  readonly payload: TaskPayload;
  readonly options: EnqueueOptions;
}

export function planJob(producer: string, number: number, random: Random): PlannedJob {
  const { task, ...asked } = choose(random);
  const { dedupKey, ...options } = asked;
  const priority = random.chance(0.1) ? random.between(0, 9) : 5;
  return {
    jobId: `${producer}-${number}`,
    payload: { task, asked },
    options: { ...options, priority, ...(dedupKey !== undefined && { dedup: { key: dedupKey } }) },
  };
}

function choose(random: Random): { task: Task } & Asked {
  const maxAttempts = MAX_ATTEMPTS;
  const key = (kind: string): string => `${kind}-${random.between(1, KEYS)}`;
  const share = random.next();
  if (share < 0.55) return { task: { does: 'return' }, maxAttempts };
  if (share < 0.63) {
    return { task: { does: 'act', steps: random.between(2, 10), stepMs: 50 }, maxAttempts };
  }
  if (share < 0.68) return { task: { does: 'fail_once' }, maxAttempts };
  if (share < 0.7) return { task: { does: 'fail_always' }, maxAttempts: FEW_ATTEMPTS };
  if (share < 0.72) return { task: { does: 'fail_for_good' }, maxAttempts };
  if (share < 0.78) {
    const resourceKey = `row-${random.between(1, ROWS)}`;
    const holdMs = random.between(20, 250);
    return { task: { does: 'write_row', row: resourceKey, holdMs }, resourceKey, maxAttempts };
  }
  if (share < 0.8)
    return { task: { does: 'lock', name: key('lock'), holdMs: random.between(10, 120) }, maxAttempts };
  if (share < 0.83) return { task: { does: 'operate', key: `${random.between(1, 500)}` }, maxAttempts };
  if (share < 0.87) {
    const idempotencyKey = `once-${random.between(1, 200)}`;
    return { task: { does: 'return' }, idempotencyKey, maxAttempts };
  }
  if (share < 0.9) return { task: { does: 'return' }, dedupKey: key('dedup'), maxAttempts };
  if (share < 0.93) return { task: { does: 'continue', steps: 4 }, maxAttempts };
  return { task: { does: 'return' }, delayMs: random.between(100, 1_500), maxAttempts };
}
