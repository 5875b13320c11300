/** What every job store must do. Each implementation's spec runs this suite on itself. */
import { describe } from '@jest/globals';
import { describeAdmin } from './admin.contract.js';
import { describeCancel } from './cancel.contract.js';
import { describeCheckpoints } from './checkpoint.contract.js';
import { describeClaim } from './claim.contract.js';
import type { ContractFactory } from './contract-store.js';
import { describeDedupLifetime } from './dedup-lifetime.contract.js';
import { describeDedupReplace } from './dedup-replace.contract.js';
import { describeDedupRerun } from './dedup-rerun.contract.js';
import { describeDedup } from './dedup.contract.js';
import { describeEnqueue } from './enqueue.contract.js';
import { describeGoneEntries } from './gone-entries.contract.js';
import { describeIdempotencyOfJobs } from './idempotency-jobs.contract.js';
import { describeCombinedKeys } from './keys-combined.contract.js';
import { describeLanes } from './lanes.contract.js';
import { describeLeases } from './leases.contract.js';
import { describeListing } from './listing.contract.js';
import { describeReap } from './reap.contract.js';
import { describeResource } from './resource.contract.js';
import { describeRetention } from './retention.contract.js';
import { describeSettle } from './settle.contract.js';
import { describeStatistics } from './statistics.contract.js';
import { describeTransitions } from './transitions.contract.js';
import { describeWake } from './wake.contract.js';

export type { ContractFactory, ContractOptions, ContractStore } from './contract-store.js';

const THEMES: Readonly<Record<string, (factory: ContractFactory) => void>> = {
  enqueue: describeEnqueue,
  claim: describeClaim,
  settle: describeSettle,
  'lane numbering': describeLanes,
  leases: describeLeases,
  reap: describeReap,
  transitions: describeTransitions,
  cancel: describeCancel,
  'entries of jobs that left the queue': describeGoneEntries,
  'resource keys': describeResource,
  'idempotency keys': describeIdempotencyOfJobs,
  'dedup keys': describeDedup,
  'lifetime of dedup keys': describeDedupLifetime,
  'dedup by replacing': describeDedupReplace,
  'dedup by running again': describeDedupRerun,
  'several keys': describeCombinedKeys,
  'redrive, pause and read': describeAdmin,
  list: describeListing,
  retention: describeRetention,
  'snapshot and counters': describeStatistics,
  checkpoints: describeCheckpoints,
  'wake-ups': describeWake,
};

export function describeJobStoreContract(name: string, factory: ContractFactory): void {
  describe(`job store contract: ${name}`, () => {
    describe.each(Object.entries(THEMES))('%s', (_theme, describeTheme) => {
      describeTheme(factory);
    });
  });
}
