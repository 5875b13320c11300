/** Opens a contender by its name, and loads no other library than that one's. */
import type { Contender, ContenderName, ContenderSettings } from './contender.js';

type Open = (settings: ContenderSettings) => Promise<Contender>;

const OPENERS: Readonly<Record<ContenderName, () => Promise<Open>>> = {
  fenceline: async () => (await import('./fenceline.js')).openFenceline,
  'fenceline-memory': async () => (await import('./fenceline.js')).openFencelineInMemory,
  bullmq: async () => (await import('./bullmq.js')).openBullmq,
  'bee-queue': async () => (await import('./bee-queue.js')).openBeeQueue,
};

export async function openContender(name: ContenderName, settings: ContenderSettings): Promise<Contender> {
  const open = await OPENERS[name]();
  return open(settings);
}
