/** The commands of the model test of idempotency records, as plain data, and how fast-check makes them up. */
import fc from 'fast-check';

/** One of the claims that were given, counted from the latest on; an earlier one may be stale. */
export type ClaimChoice = number;

export type IdempotencyCommand =
  /** `again`: by the owner that began last with this key, whose reply was lost. */
  | {
      readonly name: 'begin';
      readonly key: string;
      readonly fingerprint: string | undefined;
      readonly again: boolean;
      readonly leaseMs: number;
    }
  | { readonly name: 'renew'; readonly claim: ClaimChoice; readonly leaseMs: number }
  | {
      readonly name: 'complete';
      readonly claim: ClaimChoice;
      readonly result: string;
      readonly ttlMs: number;
    }
  | { readonly name: 'release'; readonly claim: ClaimChoice }
  | { readonly name: 'pass'; readonly ms: number };

export const KEYS = ['charge:99', 'a{b}%'];

const HOUR_MS = 3_600_000;
const leaseMs = fc.constantFrom(1_000, 30_000);
/** Mostly one of the last, which may still be current. */
const claim = fc.oneof({ weight: 4, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: fc.nat(5) });

export const idempotencyCommand: fc.Arbitrary<IdempotencyCommand> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        key: fc.constantFrom(...KEYS),
        fingerprint: fc.constantFrom('same', 'same', 'same', 'other', undefined),
        again: fc.constantFrom(false, false, true),
        leaseMs,
      })
      .map((begin): IdempotencyCommand => ({ name: 'begin', ...begin })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ claim, leaseMs })
      .map((renew): IdempotencyCommand => ({ name: 'renew', ...renew })),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({
        claim,
        result: fc.nat(9).map((n) => `{"value":${n}}`),
        ttlMs: fc.constantFrom(1_000, 60_000, 24 * HOUR_MS),
      })
      .map((complete): IdempotencyCommand => ({ name: 'complete', ...complete })),
  },
  { weight: 2, arbitrary: claim.map((choice): IdempotencyCommand => ({ name: 'release', claim: choice })) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(1, 999, 1_000, 1_000, 30_000, 60_000, HOUR_MS, HOUR_MS + 30_000, 25 * HOUR_MS)
      .map((ms): IdempotencyCommand => ({ name: 'pass', ms })),
  },
);
