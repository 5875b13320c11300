/** A process of its own that takes and releases locks as its parent tells it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from '#lib/lock/lease.js';
import { LockService } from '#lib/lock/lock.service.js';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection } from '#lib/store/redis/connection.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';
import {
  LOCK_OPTIONS_VARIABLE,
  type FromLocks,
  type LockProcessOptions,
  type StormRequest,
  type ToLocks,
} from './lock-protocol.js';

const { url, prefix } = JSON.parse(process.env[LOCK_OPTIONS_VARIABLE] ?? '{}') as LockProcessOptions;
const connection = new RedisConnection(
  { url },
  { commandTimeoutMs: 5_000, reconnect: INTERNAL.storeRetry, warn: () => {} },
);
await connection.open();
const locks = new LockService(new RedisLockStore(connection, prefix));
const held = new Map<string, Lease>();
const LONGEST_WORK_MS = 2;

function report(message: FromLocks): void {
  process.send?.(message);
}

process.on('message', (message: ToLocks) => void obey(message));
// Without its parent it has no reason to live.
process.on('disconnect', () => process.exit());
// Now Redis knows the scripts: a storm should not begin with thousands of copies of their text.
await locks.using('warm-up', {}, () => {});
report({ kind: 'ready' });

async function obey(message: ToLocks): Promise<void> {
  if (message.kind === 'storm') return storm(message);
  const { name } = message;
  if (message.kind === 'release') {
    report({ kind: 'released', name, wasHeld: (await held.get(name)?.release()) === true });
    return undefined;
  }
  const lease = await locks.acquire(name, { ttlMs: message.ttlMs, waitMs: message.waitMs });
  held.set(name, lease);
  report({ kind: 'acquired', name, owner: lease.owner, token: lease.fencingToken });
  return undefined;
}

async function storm({ names, acquires, ttlMs, waitMs }: StormRequest): Promise<void> {
  const failures: string[] = [];
  let lost = 0;
  const stopsAt = Math.floor(Math.random() * acquires);
  const one = async (name: string, stops: boolean): Promise<void> => {
    const lease = await locks.acquire(name, { ttlMs, waitMs });
    const { owner, fencingToken: token } = lease;
    report({ kind: 'write', name, owner, token, stops });
    if (stops) process.kill(process.pid, 'SIGSTOP');
    await sleep(Math.random() * LONGEST_WORK_MS);
    if (!(await lease.release())) lost += 1;
  };
  const all = Array.from({ length: acquires }, (_, i) => one(names[i % names.length] ?? '', i === stopsAt));
  for (const result of await Promise.allSettled(all)) {
    if (result.status === 'rejected') failures.push(String(result.reason));
  }
  report({ kind: 'storm over', failures, lost });
}
