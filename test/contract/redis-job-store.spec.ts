/** The Redis store keeps the contract, on a real Redis. */
import { describeRedisJobStore, onEveryServer } from './redis-contracts.js';

onEveryServer(describeRedisJobStore);
