/** Looks at the keys of a queue from outside: every job stands in exactly one place, and every place holds a job. */
import type { Redis } from 'ioredis';
import { keysOf } from './redis.js';

const INDEXES = ['scheduled', 'retry', 'blocked', 'processing', 'done', 'dead', 'cancelled'];

/** @param base `<prefix>:{<queue>}:`. Nothing may change meanwhile. Answers what is wrong. */
export async function inconsistencies(client: Redis, base: string): Promise<string[]> {
  const places = new Map<string, string[]>();
  const note = (id: string, place: string): void => void places.set(id, [...(places.get(id) ?? []), place]);
  for (const index of INDEXES) {
    for (const id of await client.zrange(`${base}${index}`, '0', '-1')) note(id, index);
  }
  for (let priority = 0; priority <= 9; priority++) {
    for (const id of await client.lrange(`${base}queued:${priority}`, 0, -1)) note(id, 'queued');
  }
  const keys = await keysOf(client, base.slice(0, -1));
  const named = (kind: string): Set<string> =>
    new Set(
      keys
        .filter((key) => key.startsWith(`${base}${kind}:`))
        .map((key) => key.slice(`${base}${kind}:`.length)),
    );
  const jobs = named('job');
  const wrong: string[] = [];
  for (const id of jobs) {
    const where = places.get(id) ?? [];
    const run = await client.hget(`${base}run:${id}`, 'status');
    const status = run === 'retrying' ? 'retry' : run;
    if (where.length !== 1) wrong.push(`${id} stands in ${where.join(', ') || 'no place'}`);
    else if (status !== null && status !== where[0])
      wrong.push(`${id} is ${status} and stands in ${where[0]}`);
  }
  for (const [id, where] of places)
    if (!jobs.has(id)) wrong.push(`${id} has no spec and stands in ${where.join()}`);
  for (const kind of ['run', 'result', 'error', 'checkpoint']) {
    for (const id of named(kind)) if (!jobs.has(id)) wrong.push(`${kind} of ${id} is left without a job`);
  }
  return wrong;
}
