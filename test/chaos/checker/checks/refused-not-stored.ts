/** What `EnqueueRefusedError` says. */
import type { Check } from '../evidence.js';
import { entriesOf, runsByJob } from '../runs.js';
import { jobsOf } from '../stored.js';

export const refusedNotStored: Check = {
  name: 'a refused enqueue stored nothing',
  promise: 'A job of which every enqueue was refused is not in Redis and never ran.',
  needsEveryWrite: false,
  find: (evidence) => {
    const refused = new Set(entriesOf(evidence, 'enqueue_refused').map(({ jobId }) => jobId));
    for (const { jobId } of entriesOf(evidence, 'enqueue_acknowledged')) refused.delete(jobId);
    for (const { jobId } of entriesOf(evidence, 'enqueue_unknown')) refused.delete(jobId);
    for (const id of withoutAnswer(evidence)) refused.delete(id);
    const jobs = jobsOf(evidence);
    const runs = runsByJob(evidence);
    return [...refused]
      .filter((id) => jobs.has(id) || runs.has(id))
      .map((id) => `${id} was refused and is there`);
  },
};

/** Attempts whose process died before it heard the answer. */
function withoutAnswer(evidence: Parameters<Check['find']>[0]): ReadonlySet<string> {
  const open = new Map<string, number>();
  for (const entry of evidence.entries) {
    const change = entry.kind === 'enqueue_attempted' ? 1 : entry.kind.startsWith('enqueue_') ? -1 : 0;
    if (change === 0 || !('jobId' in entry) || entry.jobId === undefined) continue;
    open.set(entry.jobId, (open.get(entry.jobId) ?? 0) + change);
  }
  return new Set([...open].filter(([, count]) => count > 0).map(([id]) => id));
}
