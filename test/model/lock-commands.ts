/** The commands of the model test of locks, as plain data, and how fast-check makes them up. */
import fc from 'fast-check';

/** One of the leases that were granted, counted from the latest on; an earlier one may be stale. */
export type LeaseChoice = number;

export type LockCommand =
  /** `again`: with the owner who asked so many before the last, who may hold it, wait for it, or have lost it. */
  | {
      readonly name: 'acquire';
      readonly process: number;
      readonly lock: string;
      readonly ttlMs: number;
      readonly waitMs: number;
      readonly again: number | undefined;
    }
  | { readonly name: 'renew'; readonly leases: readonly LeaseChoice[]; readonly ttlMs: number }
  | { readonly name: 'release'; readonly lease: LeaseChoice }
  /** Somebody who stands in line, or the holder. */
  | { readonly name: 'abandon'; readonly asked: number }
  /** A fenced value of the lease's lock. `twin`: by an owner who was given the same token by a primary that was cut off. */
  | {
      readonly name: 'write';
      readonly lease: LeaseChoice;
      readonly value: string;
      readonly twin: boolean;
    }
  | { readonly name: 'pass'; readonly ms: number };

export const LOCKS = ['invoice:7', 'a{b}%'];

const ttlMs = fc.constantFrom(1_000, 8_000, 30_000);
const lock = fc.constantFrom(...LOCKS, LOCKS[0] ?? '');
/** Mostly one of the last, which may still hold. */
const lease = fc.oneof({ weight: 4, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: fc.nat(5) });

export const lockCommand: fc.Arbitrary<LockCommand> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc
      .record({
        process: fc.nat(2),
        lock,
        ttlMs,
        waitMs: fc.constantFrom(0, 2_000, 60_000, 60_000),
        again: fc.constantFrom(undefined, undefined, 0, 1, 2),
      })
      .map((request): LockCommand => ({ name: 'acquire', ...request })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ leases: fc.array(lease, { minLength: 1, maxLength: 3 }), ttlMs })
      .map((renewal): LockCommand => ({ name: 'renew', ...renewal })),
  },
  { weight: 4, arbitrary: lease.map((choice): LockCommand => ({ name: 'release', lease: choice })) },
  { weight: 2, arbitrary: fc.nat(4).map((asked): LockCommand => ({ name: 'abandon', asked })) },
  {
    weight: 3,
    arbitrary: fc
      .record({ lease, value: fc.nat(99).map(String), twin: fc.constantFrom(false, false, true) })
      .map((write): LockCommand => ({ name: 'write', ...write })),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(1, 1_000, 1_000, 8_001, 16_000, 31_000, 3_600_001)
      .map((ms): LockCommand => ({ name: 'pass', ms })),
  },
);
