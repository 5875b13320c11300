/** What happens between a process and Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import { COMMAND_TIMEOUT_MS, LEASE_MS, type ChaosWorld } from '../world/chaos-world.js';
import type { Fault, Faults } from './fault.js';
import type { Direction, FaultProxy } from './fault-proxy.js';

/** A script is called: the only requests that change anything. */
const isScript = (text: string): boolean => /evalsha/i.test(text);
const isAnything = (): boolean => true;
/** Longer than a command may take and than a lease. */
const LONG_MS = Math.max(LEASE_MS, COMMAND_TIMEOUT_MS) + 1_000;
const LOST_REPLIES = 8;

export const NETWORK_FAULTS = {
  'latency of 100 ms each way': onAll(async (proxies) => {
    for (const proxy of proxies) proxy.delay(100);
    await sleep(3_000);
  }),
  'full stop for a worker': onOne('worker', (proxy) => hold(proxy, 'toServer', 'toClient')),
  'full stop for everybody': onAll(async (proxies) => {
    await Promise.all(proxies.map((proxy) => hold(proxy, 'toServer', 'toClient')));
  }),
  'one-way stop towards Redis': onOne('worker', (proxy) => hold(proxy, 'toServer')),
  'one-way stop from Redis': onOne('worker', (proxy) => hold(proxy, 'toClient')),
  'one-way stop from Redis to a producer': onOne('producer', (proxy) => hold(proxy, 'toClient')),
  'half-open connections': onAll(async (proxies) => {
    for (const proxy of proxies) proxy.abandon();
    await sleep(LONG_MS);
  }),
  'resets of all connections': onAll(async (proxies, world) => {
    for (let round = 0; round < 6; round++) {
      for (const proxy of proxies) proxy.reset();
      await sleep(world.random.between(20, 400));
    }
  }),
  'refused connections': onAll(async (proxies) => {
    for (const proxy of proxies) proxy.refuse();
    await sleep(LONG_MS);
  }),
  'a reply cut in the middle': onEach(async (proxy) => {
    for (let round = 0; round < LOST_REPLIES; round++) await soon(proxy.cutReply(isAnything));
  }),
  'a reset after execution, before the reply': onEach(async (proxy) => {
    for (let round = 0; round < LOST_REPLIES; round++) await soon(proxy.loseReplyTo(isScript));
  }),
} satisfies Faults;

/** A process that does nothing just now would make the fault wait for ever. */
function soon(happened: Promise<void>): Promise<void> {
  return Promise.race([happened, sleep(LONG_MS)]);
}

async function hold(proxy: FaultProxy, ...directions: Direction[]): Promise<void> {
  proxy.stop(...directions);
  await sleep(LONG_MS);
}

function onOne(role: 'worker' | 'producer', act: (proxy: FaultProxy) => Promise<void>): Fault {
  return (world) =>
    world.withSlot(role, async ({ proxy }) => {
      await act(proxy);
      proxy.heal();
    });
}

function onAll(act: (proxies: readonly FaultProxy[], world: ChaosWorld) => Promise<void>): Fault {
  return async (world) => {
    const proxies = world.slots.map(({ proxy }) => proxy);
    await act(proxies, world);
    for (const proxy of proxies) proxy.heal();
  };
}

function onEach(act: (proxy: FaultProxy) => Promise<void>): Fault {
  return onAll(async (proxies) => void (await Promise.all(proxies.map(act))));
}
