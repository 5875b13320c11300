/**
 * Workers, their heartbeats and their handlers in every order that a bad network and a clock can bring about: answers
 * overtake each other, get lost and come late, leases run out, handlers ignore their signal, workers are stopped in
 * between. Once the network is good again every job ends, no slot is gone, and a shutdown ends in time.
 */
import { expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import type { Fate } from './flaky-store.js';
import { runParameters, SEED } from './model-run.js';
import { CONCURRENCY, SHUTDOWN_MS, WorkerWorld, type Manner } from './worker-world.js';

const RUNS = 400;
const WORKERS = 2;
/** A wake-up comes at once; a worker that missed one would look again after 5 s. */
const SOON_MS = 500;
/** Two timeouts with their grace for each hung handler, in turn, and what a lost lease and a lost wake-up cost. */
const DRAIN_MS = 120_000;

type Step =
  | { readonly name: 'deliver' }
  | { readonly name: 'pass'; readonly ms: number }
  | { readonly name: 'enqueue'; readonly manner: Manner }
  | { readonly name: 'cancel' | 'stop'; readonly which: number };

const manner = fc.constantFrom<Manner[]>(
  ...(['returns', 'returns', 'throws', 'gives up', 'obeys', 'deaf', 'hung'] as const),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Step>({ name: 'deliver' }) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom(1, 100, 500, 1_000, 1_000, 3_500, 3_500)
      .map((ms): Step => ({ name: 'pass', ms })),
  },
  { weight: 4, arbitrary: manner.map((one): Step => ({ name: 'enqueue', manner: one })) },
  { weight: 2, arbitrary: fc.nat(9).map((which): Step => ({ name: 'cancel', which })) },
);
const fate = fc.constantFrom<Fate[]>(
  ...(['arrives', 'arrives', 'arrives', 'arrives', 'call is lost', 'answer is lost', 'late'] as const),
);
const scenario = fc.record({
  scheduler: fc.scheduler(),
  fates: fc.infiniteStream(fate),
  steps: fc.array(step, { minLength: 5, maxLength: 120, size: 'max' }),
  /** After so many steps the first worker is stopped. */
  stopAfter: fc.nat(200),
  /** Whether the network goes silent for good when the last workers are stopped. */
  endsInSilence: fc.boolean(),
});

async function take(world: WorkerWorld, one: Step): Promise<void> {
  switch (one.name) {
    case 'deliver':
      return world.deliver();
    case 'pass':
      return world.pass(one.ms);
    case 'enqueue':
      return world.enqueue(one.manner);
    case 'cancel':
      return world.cancel(one.which);
    case 'stop':
      return world.stopWorker(one.which);
  }
}

/** On a good network: a delayed job starts when it is due, and every slot of all workers can be busy at once. */
async function fillEverySlot(world: WorkerWorld, workers: number): Promise<void> {
  const slots = workers * CONCURRENCY;
  await world.enqueue('obeys', 1_000);
  await runsFor(world, 1_000 + SOON_MS);
  expect(world.running.size).toBe(1);
  for (let i = 1; i < slots; i += 1) await world.enqueue('obeys');
  await runsFor(world, SOON_MS);
  expect(world.running.size).toBe(slots);
}

async function runsFor(world: WorkerWorld, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    await world.deliverAll();
    await world.pass(250);
  }
  await world.deliverAll();
}

it(`workers keep their promises in any order of events (FC_SEED=${SEED})`, async () => {
  const property = fc.asyncProperty(
    scenario,
    async ({ scheduler, fates, steps, stopAfter, endsInSilence }) => {
      const world = new WorkerWorld(scheduler, () => fates.next().value);
      try {
        for (let i = 0; i < WORKERS; i += 1) world.startWorker();
        const script = steps.toSpliced(stopAfter, 0, { name: 'stop', which: 0 });
        for (const one of script) await take(world, one);

        world.heal();
        world.startWorker();
        await world.drain(DRAIN_MS);
        expect(await world.isDrained()).toBe(true);
        await world.pass(SHUTDOWN_MS);
        await world.deliverAll();
        await fillEverySlot(world, WORKERS);

        for (const which of [1, 2]) world.stopWorker(which);
        for (let passed = 0; passed < SHUTDOWN_MS && !world.hasStopped; passed += 250) {
          if (!endsInSilence) await world.deliverAll();
          await world.pass(250);
        }
        expect(world.hasStopped).toBe(true);
        await world.pass(SHUTDOWN_MS);
        expect(jest.getTimerCount()).toBe(0);
      } finally {
        world.close();
      }
    },
  );
  await fc.assert(property, runParameters(RUNS));
}, 900_000);
