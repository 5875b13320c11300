/** What every idempotency store must do. Each implementation's spec runs this suite on itself. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { BeginReply, IdempotencyStore } from '#lib/store/idempotency-store.js';

export interface IdempotencyContractStore {
  readonly store: IdempotencyStore;
  /** Moves the store's clock. Where that is impossible it lets the time pass, so keep it short. */
  advance(ms: number): Promise<void>;
  /** Makes the clock go back by an hour; or, where that is impossible, what the store remembers of `KEY` as much later. */
  stepBack(): Promise<void>;
  close(): Promise<void>;
}

/** A lease that does not run out during a test. */
export const LONG_MS = 60_000;
/** A lease or a result that is over after `advance(PASSED_MS)`. */
const SHORT_MS = 40;
const PASSED_MS = 60;
const RESULT = '{"value":{"list":[],"id":12345678901234567890,"text":"é😀"}}';
export const KEY = 'invoice:42';

export function describeIdempotencyStoreContract(
  name: string,
  factory: () => Promise<IdempotencyContractStore>,
): void {
  describe(`idempotency store contract: ${name}`, () => {
    let contract: IdempotencyContractStore;
    let store: IdempotencyStore;
    beforeEach(async () => {
      contract = await factory();
      ({ store } = contract);
    });
    afterEach(() => contract.close());

    const begin = (owner: string, fingerprint?: string, leaseMs = LONG_MS): Promise<BeginReply> =>
      store.begin(KEY, fingerprint, owner, leaseMs);

    async function started(owner: string, fingerprint?: string, leaseMs = LONG_MS): Promise<number> {
      const reply = await begin(owner, fingerprint, leaseMs);
      if (reply.kind !== 'started') throw new Error(`"${owner}" was answered ${reply.kind}`);
      return reply.token;
    }

    describe('begin', () => {
      it('starts an operation that nobody knows', async () => {
        const reply = await begin('a', 'f');
        expect(reply).toEqual({ kind: 'started', token: expect.any(Number), takenOver: false });
        const record = await store.inspect(KEY);
        expect(record).toMatchObject({
          status: 'processing',
          owner: 'a',
          fingerprint: 'f',
          fencingToken: reply.kind === 'started' && reply.token,
          completedAt: undefined,
          expiresAt: undefined,
          result: undefined,
        });
        expect(record?.leaseExpiresAt).toBe((record?.startedAt ?? 0) + LONG_MS);
        expect(Number.isSafeInteger(record?.fencingToken)).toBe(true);
      });

      it('says how long the lease of another owner has to go', async () => {
        await started('a');
        const reply = await begin('b');
        if (reply.kind !== 'busy') throw new Error(reply.kind);
        expect(reply.remainingMs).toBeGreaterThan(LONG_MS - 10_000);
        expect(reply.remainingMs).toBeLessThanOrEqual(LONG_MS);
        expect(await store.inspect(KEY)).toMatchObject({ owner: 'a' });
      });

      it('gives the same owner the token it has, so a call can be repeated', async () => {
        const token = await started('a', 'f', SHORT_MS);
        expect(await begin('a', 'f')).toEqual({ kind: 'started', token, takenOver: false });
        await contract.advance(PASSED_MS);
        expect(await begin('b', 'f')).toMatchObject({ kind: 'busy' });
      });

      it('takes over when the lease has run out, with a higher token', async () => {
        const first = await started('a', 'f', SHORT_MS);
        await contract.advance(PASSED_MS);
        const reply = await begin('b', 'f');
        if (reply.kind !== 'started') throw new Error(reply.kind);
        expect(reply.takenOver).toBe(true);
        expect(reply.token).toBeGreaterThan(first);
        expect(await store.inspect(KEY)).toMatchObject({ owner: 'b', fencingToken: reply.token });
      });

      it('replays the result of one that is done', async () => {
        await store.complete(KEY, await started('a', 'f'), RESULT, LONG_MS);
        expect(await begin('b', 'f')).toEqual({ kind: 'replay', result: RESULT });
        expect(await begin('a', 'f')).toEqual({ kind: 'replay', result: RESULT });
      });

      it.each(['running', 'abandoned', 'done'])(
        'refuses another fingerprint while it is %s',
        async (state) => {
          const token = await started('a', 'f', state === 'abandoned' ? SHORT_MS : LONG_MS);
          if (state === 'abandoned') await contract.advance(PASSED_MS);
          if (state === 'done') await store.complete(KEY, token, RESULT, LONG_MS);
          const before = await store.inspect(KEY);
          expect(await begin('b', 'g')).toEqual({ kind: 'conflict' });
          expect(await store.inspect(KEY)).toEqual(before);
        },
      );

      it('fits any fingerprint where one is left out, and keeps the one it has heard of', async () => {
        await started('a', undefined, SHORT_MS);
        await contract.advance(PASSED_MS);
        await started('b', 'f', SHORT_MS);
        await contract.advance(PASSED_MS);
        await started('c');
        expect(await store.inspect(KEY)).toMatchObject({ fingerprint: 'f' });
        expect(await begin('d', 'g')).toEqual({ kind: 'conflict' });
        expect(await begin('d')).toMatchObject({ kind: 'busy' });
      });

      it('gives one of many at once the operation', async () => {
        const owners = Array.from({ length: 50 }, (_, i) => `owner-${i}`);
        const replies = await Promise.all(owners.map((owner) => begin(owner, 'f')));
        expect(replies.filter(({ kind }) => kind === 'started')).toHaveLength(1);
        expect(replies.filter(({ kind }) => kind === 'busy')).toHaveLength(49);
      });
    });

    describe('renew', () => {
      it('keeps the lease, also one that ran out and nobody took over', async () => {
        const token = await started('a', undefined, SHORT_MS);
        expect(await store.renew(KEY, token, SHORT_MS)).toBe(true);
        await contract.advance(PASSED_MS);
        expect(await store.renew(KEY, token, LONG_MS)).toBe(true);
        expect(await begin('b')).toMatchObject({ kind: 'busy' });
      });

      it('is refused to an owner that lost it, and once it ended', async () => {
        expect(await store.renew(KEY, 1, LONG_MS)).toBe(false);
        const first = await started('a', undefined, SHORT_MS);
        await contract.advance(PASSED_MS);
        const second = await started('b');
        const before = await store.inspect(KEY);
        expect(await store.renew(KEY, first, LONG_MS)).toBe(false);
        expect(await store.inspect(KEY)).toEqual(before);
        await store.complete(KEY, second, RESULT, LONG_MS);
        expect(await store.renew(KEY, second, LONG_MS)).toBe(false);
      });
    });

    describe('complete', () => {
      it('keeps the result as it is, for its time', async () => {
        const token = await started('a', 'f');
        expect(await store.complete(KEY, token, RESULT, LONG_MS)).toBe(true);
        const record = await store.inspect(KEY);
        expect(record).toMatchObject({
          status: 'done',
          owner: 'a',
          fencingToken: token,
          fingerprint: 'f',
          result: RESULT,
          leaseExpiresAt: undefined,
        });
        expect(record?.expiresAt).toBe((record?.completedAt ?? 0) + LONG_MS);
      });

      it('is forgotten after its time, and the next token is higher', async () => {
        const token = await started('a', 'f');
        await store.complete(KEY, token, RESULT, SHORT_MS);
        await contract.advance(PASSED_MS);
        expect(await store.inspect(KEY)).toBeUndefined();
        expect(await started('b', 'g')).toBeGreaterThan(token);
      });

      it('answers the same to a repeated call and changes nothing', async () => {
        const token = await started('a');
        await store.complete(KEY, token, RESULT, LONG_MS);
        const before = await store.inspect(KEY);
        expect(await store.complete(KEY, token, '{"value":2}', LONG_MS)).toBe(true);
        expect(await store.inspect(KEY)).toEqual(before);
      });

      it('is refused to an owner that lost the claim: nothing is written', async () => {
        const first = await started('a', undefined, SHORT_MS);
        await contract.advance(PASSED_MS);
        const second = await started('b');
        const before = await store.inspect(KEY);
        expect(await store.complete(KEY, first, RESULT, LONG_MS)).toBe(false);
        expect(await store.inspect(KEY)).toEqual(before);
        expect(await store.complete(KEY, second, '{"value":2}', LONG_MS)).toBe(true);
        expect(await store.complete(KEY, first, RESULT, LONG_MS)).toBe(false);
        expect(await begin('c')).toEqual({ kind: 'replay', result: '{"value":2}' });
      });

      it('is refused where there is no record', async () => {
        expect(await store.complete(KEY, 1, RESULT, LONG_MS)).toBe(false);
        expect(await store.inspect(KEY)).toBeUndefined();
      });

      it('counts after the lease ran out, as long as nobody took over', async () => {
        const token = await started('a', undefined, SHORT_MS);
        await contract.advance(PASSED_MS);
        expect(await store.complete(KEY, token, RESULT, LONG_MS)).toBe(true);
        expect(await begin('b')).toEqual({ kind: 'replay', result: RESULT });
      });
    });

    describe('release', () => {
      it('is followed by a higher token although the clock went back', async () => {
        const first = await started('a', 'f');
        await contract.stepBack();
        const token = (await store.inspect(KEY))?.fencingToken ?? first;
        expect(await store.release(KEY, token)).toBe(true);
        expect(await begin('b', 'g')).toEqual({ kind: 'started', token: token + 1, takenOver: false });
        expect(await store.inspect(KEY)).toMatchObject({ owner: 'b', fingerprint: 'g' });
      });

      it('leaves nothing that can be renewed or completed', async () => {
        const token = await started('a', 'f');
        await store.release(KEY, token);
        expect(await store.renew(KEY, token, LONG_MS)).toBe(false);
        expect(await store.complete(KEY, token, RESULT, LONG_MS)).toBe(false);
        expect(await store.inspect(KEY)).toBeUndefined();
      });

      it('forgets the operation', async () => {
        const token = await started('a', 'f');
        expect(await store.release(KEY, token)).toBe(true);
        expect(await store.inspect(KEY)).toBeUndefined();
        expect(await store.release(KEY, token)).toBe(false);
        expect(await started('b', 'g')).toBeGreaterThan(token);
      });

      it('is refused to an owner that lost it, and once it is done', async () => {
        const first = await started('a', undefined, SHORT_MS);
        await contract.advance(PASSED_MS);
        const second = await started('b');
        expect(await store.release(KEY, first)).toBe(false);
        expect(await store.inspect(KEY)).toMatchObject({ owner: 'b', status: 'processing' });
        await store.complete(KEY, second, RESULT, LONG_MS);
        expect(await store.release(KEY, second)).toBe(false);
        expect(await begin('c')).toEqual({ kind: 'replay', result: RESULT });
      });
    });

    it.each(['plain', 'a{b}c', '{}', 'a%7Bb', 'a{b', ' ', '\n', 'é😀', 'x'.repeat(255)])(
      'keeps the key %j apart from all others',
      async (key) => {
        const other = key.replaceAll('%7B', '{') === key ? `${key}%` : key.replaceAll('%7B', '{');
        expect(await store.begin(key, undefined, 'a', LONG_MS)).toMatchObject({ kind: 'started' });
        expect(await store.begin(other, undefined, 'b', LONG_MS)).toMatchObject({ kind: 'started' });
        expect(await store.begin(key, undefined, 'b', LONG_MS)).toMatchObject({ kind: 'busy' });
        expect(await store.inspect(key)).toMatchObject({ owner: 'a' });
      },
    );
  });
}
