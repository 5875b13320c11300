/** What the bench asks of every queue library: the one interface through which all of them are measured. */
import type { BenchPayload } from '../payload.js';

/** `fenceline-memory` is the library on its memory store. */
export type ContenderName = 'fenceline' | 'bullmq' | 'bee-queue' | 'fenceline-memory';

export const PEERS = ['bullmq', 'bee-queue'] as const satisfies readonly ContenderName[];
export type Peer = (typeof PEERS)[number];

export type BenchHandler = (payload: BenchPayload) => Promise<void>;

export interface JobOptions {
  readonly delayMs?: number;
  /** Fenceline only. */
  readonly resourceKey?: string;
  /** How often a failed job may run again. Fenceline's default allows four; the peers must be told. */
  readonly retries?: number;
}

export interface ContenderSettings {
  readonly url: string;
  /** Completed jobs: removed at once, or the last 10,000 kept (the library's default, spelled out for BullMQ). */
  readonly keep: 'nothing' | 'recent';
  /** Retries come as soon as the library can make them. */
  readonly promptRetries: boolean;
  /** Bee-Queue starts delayed jobs only when it is told to. */
  readonly delayedJobs: boolean;
}

export interface BenchWorker {
  /** Resolves when the worker has settled what it ran and holds nothing any more. */
  close(): Promise<void>;
}

/** A producer, and the way to workers of the same queue. */
export interface Contender {
  enqueue(payload: BenchPayload, options?: JobOptions): Promise<void>;
  /** One call for all of them, as the library's users would make it. */
  enqueueMany(payloads: readonly BenchPayload[], options?: JobOptions): Promise<void>;
  /** Resolves when the worker is running. */
  startWorker(concurrency: number, handler: BenchHandler): Promise<BenchWorker>;
  /** Jobs that have not ended well: waiting, running, delayed or failed. */
  remaining(): Promise<number>;
  close(): Promise<void>;
}

/** What every figure is measured with unless it says otherwise. */
export const DEFAULT_SETTINGS = {
  keep: 'nothing',
  promptRetries: false,
  delayedJobs: false,
} as const satisfies Omit<ContenderSettings, 'url'>;
