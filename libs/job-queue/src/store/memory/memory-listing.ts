/**
 * Pages through the jobs of one status. A cursor names the place of the last job of its page, not how
 * many were shown: jobs that leave between two pages then make nobody skip the ones that stayed.
 */
import { InvalidOptionError } from '../../errors/errors.js';
import type { JobPage, ListQuery } from '../job-store.js';
import type { MemoryQueueState } from './memory-queue-state.js';
import type { StoredJob } from './stored-job.js';
import type { Place } from './time-index.js';

export function listJobs(state: MemoryQueueState, query: ListQuery): JobPage {
  // One more than asked for tells whether there is a next page.
  const wanted = query.limit + 1;
  const found =
    query.status === 'queued'
      ? queuedJobs(state, query.cursor, wanted)
      : state.timed[query.status].page(query.order, parseCursor(query.cursor), wanted);
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  return {
    ids: page.map(({ id }) => id),
    ...(query.status === 'queued' ? {} : { times: page.map(({ at }) => at) }),
    nextCursor: found.length > page.length && last ? cursorAt(last) : undefined,
  };
}

/** In the order in which they will be claimed. */
function queuedJobs(state: MemoryQueueState, cursor: string | undefined, wanted: number): StoredJob[] {
  const behind = parseCursor(cursor);
  const firstPriority = behind ? Number(behind.id) : 0;
  return state.ready.slice(firstPriority).reduce<StoredJob[]>((found, list, index) => {
    const position = index === 0 ? behind?.at : undefined;
    return found.concat(list.page(position, wanted - found.length));
  }, []);
}

/** `<time>:<id>`; for a queued job `<position>:<priority>`. */
function cursorAt(job: StoredJob): string {
  return job.status === 'queued' ? `${job.position}:${job.priority}` : `${job.at}:${job.id}`;
}

function parseCursor(cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined;
  const colon = cursor.indexOf(':');
  const at = Number(cursor.slice(0, colon));
  if (colon < 1 || !Number.isFinite(at)) {
    throw new InvalidOptionError('cursor', cursor, 'must be the nextCursor of an earlier page');
  }
  return { at, id: cursor.slice(colon + 1) };
}
