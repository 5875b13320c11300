/** Everything that locks, fenced values and idempotency records outside of jobs do. */
import type { IdempotencyStore } from '#lib/store/idempotency-store.js';
import type { LockStore } from '#lib/store/lock-store.js';
import { eventually } from '../support/eventually.js';
import { Ears } from '../contract/lock-contract-store.js';
import { LONG_MS } from '../contract/contract-store.js';

const PATIENCE_MS = 300;

export async function lock(store: LockStore): Promise<void> {
  const ears = new Ears();
  try {
    let hears = false;
    void store.subscribe(ears).then(() => (hears = true));
    await eventually(() => hears, { timeoutMs: PATIENCE_MS, what: 'the subscription' });
    const request = { name: 'lock', ttlMs: LONG_MS, waitMs: LONG_MS };
    const first = await store.acquire({ ...request, owner: 'first' });
    if (!first.granted) throw new Error('the lock should be free');
    const held = { name: 'lock', owner: 'first', token: first.token };
    await store.renew([{ ...held, ttlMs: LONG_MS }]);
    for (const owner of ['second', 'third']) await store.acquire({ ...request, owner });
    await store.inspect('lock');
    await store.fencedSet('value', 'text', held);
    if ((await store.fencedGet('value'))?.value !== 'text') throw new Error('the value is not there');
    await store.release(held);
    await eventually(() => ears.heard.includes('second'), { timeoutMs: PATIENCE_MS, what: 'the grant' });
    await store.abandon('lock', 'third');
  } finally {
    await store.close();
  }
}

export async function runOnce(store: IdempotencyStore): Promise<void> {
  for (const key of ['done', 'released']) {
    const begun = await store.begin(key, 'fingerprint', 'owner', LONG_MS);
    if (begun.kind !== 'started') throw new Error(`${key} should start`);
    await store.renew(key, begun.token, LONG_MS);
    if (key === 'released') await store.release(key, begun.token);
    else await store.complete(key, begun.token, '{"value":1}', LONG_MS);
  }
  await store.begin('done', 'fingerprint', 'owner', LONG_MS);
  if ((await store.inspect('done'))?.status !== 'done') throw new Error('the record is not there');
}
