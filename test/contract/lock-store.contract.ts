/** What every lock store must do. Each implementation's spec runs this suite on itself. */
import { describe } from '@jest/globals';
import type { LockContractFactory } from './lock-contract-store.js';
import { describeLockFence } from './lock-fence.contract.js';
import { describeLockLeases } from './lock-lease.contract.js';
import { describeLockLine } from './lock-line.contract.js';

const THEMES: Readonly<Record<string, (factory: LockContractFactory) => void>> = {
  leases: describeLockLeases,
  'the line': describeLockLine,
  'tokens and fenced values': describeLockFence,
};

export function describeLockStoreContract(name: string, factory: LockContractFactory): void {
  describe(`lock store contract: ${name}`, () => {
    describe.each(Object.entries(THEMES))('%s', (_theme, describeTheme) => {
      describeTheme(factory);
    });
  });
}
