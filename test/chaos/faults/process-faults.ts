/** What happens to processes. Whoever dies is followed by another, as under any supervisor. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LEASE_MS, REAP_INTERVAL_MS, type ChaosWorld } from '../world/chaos-world.js';
import type { Faults } from './fault.js';

/** Only the call that reaps carries the time after which a silent worker is forgotten. */
export const isReaping = (text: string): boolean => text.includes('\r\n3600000\r\n');

/** Within it the others have reaped what a dead worker held. */
const REAPED_MS = LEASE_MS + REAP_INTERVAL_MS + 500;

export const PROCESS_FAULTS = {
  'kill -9 of a worker': (world) => killOne(world, 'worker'),
  'kill -9 of a producer': (world) => killOne(world, 'producer'),
  'kill -9 of all workers at once': async (world) => {
    await Promise.all(world.workers.filter((slot) => slot.isAlive).map((slot) => slot.kill()));
    await Promise.all(world.workers.map((slot) => slot.spawn()));
  },
  /** After the reaper's reply, in the middle of telling what was reaped. */
  'kill -9 of the process that reaps, after its reply': async (world) => {
    const [victim, ...reapers] = world.workers;
    if (!victim) return;
    await Promise.all(reapers.map((slot) => slot.kill()));
    await Promise.all(reapers.map((slot) => slot.spawn({ diesWhenReaping: true })));
    await sleep(LEASE_MS);
    await victim.kill();
    // The first to reap dies, then whoever reaps what that one held.
    await Promise.race([Promise.all(reapers.map((slot) => slot.died())), sleep(3 * REAPED_MS)]);
    await Promise.all(reapers.filter((slot) => slot.isAlive).map((slot) => slot.kill()));
    await Promise.all(world.workers.map((slot) => slot.spawn()));
  },
  /** Redis has reaped, and nobody ever hears what. */
  'kill -9 of the process that reaps, before its reply': async (world) => {
    const [victim, ...reapers] = world.workers;
    if (!victim) return;
    await victim.kill();
    await sleep(LEASE_MS * 0.8);
    await Promise.all(
      reapers.map(async (slot) => {
        await Promise.race([slot.proxy.loseReplyTo(isReaping), sleep(3 * REAPED_MS)]);
        await slot.kill();
      }),
    );
    await Promise.all(world.workers.map((slot) => slot.spawn()));
  },
  'SIGSTOP past the lease, then SIGCONT': (world) =>
    world.withSlot('worker', async (slot) => {
      slot.pause();
      await sleep(LEASE_MS + world.random.between(200, 2_000));
      slot.resume();
    }),
  'SIGSTOP shorter than the lease': (world) =>
    world.withSlot('worker', async (slot) => {
      slot.pause();
      await sleep(world.random.between(100, LEASE_MS * 0.6));
      slot.resume();
    }),
  'SIGSTOP of a producer': (world) =>
    world.withSlot('producer', async (slot) => {
      slot.pause();
      await sleep(world.random.between(500, 2_500));
      slot.resume();
    }),
  'a handler that blocks the event loop for 3 leases': async (world) => {
    await world.enqueue(1, { does: 'block', ms: 3 * LEASE_MS });
  },
  'SIGTERM of a worker': (world) =>
    world.withSlot('worker', async (slot) => {
      await slot.terminate();
      await slot.spawn();
    }),
} satisfies Faults;

async function killOne(world: ChaosWorld, role: 'worker' | 'producer'): Promise<void> {
  await world.withSlot(role, async (slot) => {
    await slot.kill();
    await slot.spawn();
  });
}
