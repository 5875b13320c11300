/** The memory lock store keeps the contract. */
import { openMemoryLocks } from '../support/lock-stores.js';
import { describeLockStoreContract } from './lock-store.contract.js';

describeLockStoreContract('memory', async () => openMemoryLocks());
