import { describe, expect, it } from '@jest/globals';
import { EnqueueRefusedError, EnqueueUnknownError } from '../errors/errors.js';
import type { JobStore } from '../store/job-store.js';
import type { NewJob } from '../store/new-job.js';
import { MemoryJobStore } from '../store/memory/memory-job-store.js';
import { EnqueueBatcher } from './enqueue-batcher.js';

const keep = { count: 10_000, ageMs: 60_000 };

/** A real store that notes the sizes of its calls and may refuse one. */
class NotingStore extends MemoryJobStore {
  readonly calls: number[] = [];
  refusal: Error | undefined;

  constructor() {
    super({ queue: 'jobs', retention: { done: keep, dead: keep, cancelled: keep } });
  }

  override enqueue(jobs: readonly NewJob[]): ReturnType<JobStore['enqueue']> {
    this.calls.push(jobs.length);
    const { refusal } = this;
    this.refusal = undefined;
    return refusal ? Promise.reject(refusal) : super.enqueue(jobs);
  }
}

const jobs = (count: number, payload = '1'): NewJob[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `job-${i}`,
    callerChosenId: true,
    spec: `{"type":"t","payload":${payload}}`,
    priority: 5,
    delayMs: 0,
  }));

describe('EnqueueBatcher', () => {
  it('stores at most 250 jobs at once', async () => {
    const store = new NotingStore();
    expect(await new EnqueueBatcher(store).addMany(jobs(625))).toHaveLength(625);
    expect(store.calls).toEqual([250, 250, 125]);
  });

  it('stores at most 1 MB at once, counted in bytes', async () => {
    const store = new NotingStore();
    // Three bytes per character: 300 kB each, so three fit.
    await new EnqueueBatcher(store).addMany(jobs(7, JSON.stringify('語'.repeat(100_000))));
    expect(store.calls).toEqual([3, 3, 1]);
  });

  it('stores a job that is larger than that alone', async () => {
    const store = new NotingStore();
    await new EnqueueBatcher(store).addMany(jobs(2, JSON.stringify('x'.repeat(2_000_000))));
    expect(store.calls).toEqual([1, 1]);
  });

  it('answers for each job of a chunk that was not stored, and goes on with the next', async () => {
    const store = new NotingStore();
    store.refusal = new EnqueueRefusedError('job-0', 'Redis is full');
    const results = await new EnqueueBatcher(store).addMany(jobs(251));
    expect(results[249]).toEqual({
      ok: false,
      jobId: 'job-249',
      error: expect.objectContaining({ code: 'ENQUEUE_REFUSED', jobId: 'job-249' }),
    });
    expect(results[250]).toMatchObject({ ok: true, jobId: 'job-250' });
  });

  it('stores only jobs of one partition at once, and answers in the order of all', async () => {
    const store = new NotingStore();
    const mixed = jobs(9).map((job, i) => ({ ...job, partition: i % 2 }));
    store.refusal = new EnqueueRefusedError('job-0', 'Redis is full');
    const results = await new EnqueueBatcher(store).addMany(mixed);
    expect(store.calls).toEqual([5, 4]);
    expect(results.map(({ ok }) => ok)).toEqual([false, true, false, true, false, true, false, true, false]);
    expect(results[8]).toMatchObject({ jobId: 'job-8' });

    const batcher = new EnqueueBatcher(store);
    const replies = await Promise.all(mixed.map((job) => batcher.add(job)));
    expect(store.calls.slice(2)).toEqual([5, 4]);
    expect(replies.map(({ jobId }) => jobId)).toEqual(mixed.map(({ id }) => id));
  });

  it('joins what is added in one turn, and gives each caller its own answer or error', async () => {
    const store = new NotingStore();
    const batcher = new EnqueueBatcher(store);
    expect(await Promise.all(jobs(50).map((job) => batcher.add(job)))).toHaveLength(50);
    expect(store.calls).toEqual([50]);

    store.refusal = new EnqueueUnknownError('job-0');
    const lost = await Promise.allSettled(jobs(2).map((job) => batcher.add(job)));
    expect(lost).toMatchObject([{ reason: { jobId: 'job-0' } }, { reason: { jobId: 'job-1' } }]);
  });
});
