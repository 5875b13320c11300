/**
 * Joins the enqueue calls of one turn of the event loop into few store calls: with 100 callers in flight
 * one script stores 100 jobs.
 */
import { EnqueueRefusedError, EnqueueUnknownError } from '../errors/errors.js';
import { INTERNAL } from '../options/defaults.js';
import type { JobStore } from '../store/job-store.js';
import type { EnqueueRefusal, EnqueueReply, NewJob } from '../store/new-job.js';
import { refusalError } from './job-keys.js';

export type EnqueueResult =
  | ({ readonly ok: true } & EnqueueReply)
  | { readonly ok: false; readonly jobId: string; readonly error: Error };

interface Waiting {
  readonly job: NewJob;
  readonly resolve: (reply: EnqueueReply) => void;
  readonly reject: (error: Error) => void;
}

export class EnqueueBatcher {
  private waiting: Waiting[] = [];

  constructor(private readonly store: JobStore) {}

  add(job: NewJob): Promise<EnqueueReply> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) setImmediate(() => this.flush());
      this.waiting.push({ job, resolve, reject });
    });
  }

  /** Stores the jobs in chunks, each atomic, those of a partition in their order; answers in the order given. */
  async addMany(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    const results: EnqueueResult[] = [];
    const parts = byPartition(jobs.map((job, place) => ({ job, place }))).map(async (part) => {
      const stored = await this.addInOrder(part.map(({ job }) => job));
      for (const [i, result] of stored.entries()) results[part[i]?.place ?? 0] = result;
    });
    await Promise.all(parts);
    return results;
  }

  /** Some chunks are under way at once: the store works on one while the next is written (a fifth more jobs a second). */
  private async addInOrder(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    const results: Promise<EnqueueResult[]>[] = [];
    for (const chunk of chunksOf(jobs)) {
      await results.at(-INTERNAL.enqueueChunksUnderWay);
      results.push(this.addChunk(chunk));
    }
    return (await Promise.all(results)).flat();
  }

  private async addChunk(chunk: readonly NewJob[]): Promise<EnqueueResult[]> {
    try {
      const replies = await this.store.enqueue(chunk);
      return chunk.map((job, i) => toResult(job, replies[i]));
    } catch (error) {
      return chunk.map(({ id }) => ({ ok: false, jobId: id, error: errorFor(id, error) }));
    }
  }

  private flush(): void {
    const batch = this.waiting;
    this.waiting = [];
    for (const part of byPartition(batch)) {
      let from = 0;
      for (const chunk of chunksOf(part.map(({ job }) => job))) {
        const callers = part.slice(from, (from += chunk.length));
        // Not awaited: the chunks of one turn go out together.
        void this.storeFor(callers, chunk);
      }
    }
  }

  private async storeFor(callers: readonly Waiting[], chunk: readonly NewJob[]): Promise<void> {
    try {
      const replies = await this.store.enqueue(chunk);
      for (const [i, reply] of replies.entries()) {
        const caller = callers[i];
        if ('refused' in reply) caller?.reject(refusalError(reply, caller.job));
        else caller?.resolve(reply);
      }
    } catch (error) {
      for (const { job, reject } of callers) reject(errorFor(job.id, error));
    }
  }
}

function toResult(job: NewJob, reply: EnqueueReply | EnqueueRefusal | undefined): EnqueueResult {
  if (reply === undefined) return { ok: false, jobId: job.id, error: new EnqueueUnknownError(job.id) };
  if ('refused' in reply) return { ok: false, jobId: job.id, error: refusalError(reply, job) };
  return { ok: true, ...reply };
}

function errorFor(jobId: string, error: unknown): Error {
  if (error instanceof EnqueueRefusedError || error instanceof EnqueueUnknownError)
    return error.forJob(jobId);
  return new EnqueueUnknownError(jobId, { cause: error });
}

/** A chunk is atomic, and only within a partition can it be. */
function byPartition<T extends { readonly job: NewJob }>(all: readonly T[]): (readonly T[])[] {
  if (all[0]?.job.partition === undefined) return all.length === 0 ? [] : [all];
  const parts = new Map<number | undefined, T[]>();
  for (const one of all) {
    const part = parts.get(one.job.partition);
    if (part) part.push(one);
    else parts.set(one.job.partition, [one]);
  }
  return [...parts.values()];
}

/** Bounded by jobs and by bytes, so that one script keeps the store busy for a bounded time. */
function* chunksOf(jobs: readonly NewJob[]): Generator<readonly NewJob[]> {
  let start = 0;
  let size = 0;
  for (let i = 0; i < jobs.length; i++) {
    const length = Buffer.byteLength(jobs[i]?.spec ?? '');
    const full = i - start === INTERNAL.enqueueChunkJobs || size + length > INTERNAL.enqueueChunkBytes;
    if (full && i > start) {
      yield jobs.slice(start, i);
      start = i;
      size = 0;
    }
    size += length;
  }
  if (start < jobs.length) yield jobs.slice(start);
}
