/** Fencing tokens order everything, whatever Redis forgets. */
import type { Check, Evidence } from '../evidence.js';
import { describe, entriesOf, groupBy, pairsOf, runsByJob, runsOf } from '../runs.js';
import { queueKey } from '../stored.js';

export const tokensIncrease: Check = {
  name: 'tokens strictly increase',
  promise:
    'No token is used twice; later runs of a job, later holders of a lock and whatever a later process gets have higher ones.',
  needsEveryWrite: false,
  find: (evidence) => [
    ...usedTwice(evidence),
    ...backwards(evidence),
    ...acrossBoots(evidence),
    ...fence(evidence),
  ],
};

function usedTwice(evidence: Evidence): string[] {
  const byToken = groupBy(runsOf(evidence), ({ started }) => String(started.token));
  return [...byToken].filter(([, runs]) => runs.length > 1).map(([token]) => `two runs have token ${token}`);
}

function backwards(evidence: Evidence): string[] {
  const jobs = [...runsByJob(evidence).values()].flatMap((runs) =>
    pairsOf(runs)
      .filter(([first, second]) => second.started.token <= first.started.token)
      .map(([first, second]) => `${describe(second)} came after ${describe(first)}`),
  );
  const granted = [
    ...entriesOf(evidence, 'lock_acquired').map(({ name, token }) => ({ of: `lock ${name}`, token })),
    ...entriesOf(evidence, 'operation_started').map(({ key, token }) => ({ of: `operation ${key}`, token })),
  ];
  const others = [...groupBy(granted, ({ of }) => of)].flatMap(([of, list]) =>
    pairsOf(list)
      .filter(([first, second]) => second.token <= first.token)
      .map(([first, second]) => `${of}: token ${second.token} came after ${first.token}`),
  );
  return [...jobs, ...others];
}

/** A process that booted after a run had started only gets higher tokens, whoever it is. */
function acrossBoots(evidence: Evidence): string[] {
  const firstTokens = new Map<string, number>();
  for (const { started } of runsOf(evidence)) {
    firstTokens.set(started.by, Math.min(firstTokens.get(started.by) ?? Infinity, started.token));
  }
  let highest = 0;
  const violations: string[] = [];
  for (const entry of evidence.entries) {
    if (entry.kind === 'run_started') highest = Math.max(highest, entry.token);
    const first = entry.kind === 'booted' ? firstTokens.get(entry.by) : undefined;
    if (first !== undefined && first <= highest) {
      violations.push(`${entry.by} booted after token ${highest} was in use and got ${first}`);
    }
  }
  return violations;
}

function fence(evidence: Evidence): string[] {
  const stored = queueKey(evidence, 'fence');
  const last = stored?.type === 'string' ? Number(stored.text) : 0;
  const highest = Math.max(0, ...jobTokens(evidence));
  return last < highest ? [`the queue's counter is at ${last}, below the token ${highest}`] : [];
}

/** Of runs that Redis knows of: one that it forgot says nothing about its counter. */
function jobTokens(evidence: Evidence): number[] {
  return runsOf(evidence)
    .filter(({ started }) => queueKey(evidence, `job:${started.jobId}`) !== undefined)
    .slice(-1_000)
    .map(({ started }) => started.token);
}
