/** The dedup key that the contract's jobs share, and the ways to ask for it. */
import type { DedupRequest, NewJob } from '#lib/store/new-job.js';
import { unique, type StoreDriver } from './contract-store.js';

export const KEY = 'email:42';
export const OLD = '{"type":"test","payload":"old"}';
export const NEW = '{"type":"test","payload":"new"}';

export const withDedup = (
  request: Partial<DedupRequest> = {},
  changes: Partial<NewJob> = {},
): Partial<NewJob> => ({
  spec: OLD,
  ...changes,
  keys: { ...changes.keys, dedup: unique(KEY, request) },
});

export const replacing = (changes: Partial<NewJob> = {}): Partial<NewJob> =>
  withDedup({ onDuplicate: 'replace' }, { spec: NEW, ...changes });

export const rerunning = (changes: Partial<NewJob> = {}): Partial<NewJob> =>
  withDedup({ onDuplicate: 'rerun' }, { spec: NEW, ...changes });

/** Whether the key is anybody's. */
export async function isOwned(driver: StoreDriver): Promise<boolean> {
  const probe = await driver.enqueue('probe', withDedup());
  if (probe && 'duplicate' in probe && !probe.duplicate) {
    await driver.store.remove('probe');
    return false;
  }
  return true;
}

/** The part of the stored text that the caller gave. */
export async function payloadOf(driver: StoreDriver, id: string): Promise<unknown> {
  const stored: unknown = JSON.parse((await driver.read(id)).spec ?? '{}');
  return typeof stored === 'object' && stored !== null && 'payload' in stored ? stored.payload : undefined;
}
