/** Waits until an app has no work left, so that a test can look at what its handlers did. */
import type { INestApplicationContext } from '@nestjs/common';
import { QueueInspector } from '../queue/queue-inspector.js';

export interface UntilIdleOptions {
  /** Default: the default queue. */
  readonly queue?: string;
  /** ms. Default 5,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const POLL_MS = 5;

/**
 * Resolves when no job of the queue is queued, processing or retrying. Jobs that are scheduled for later are left alone.
 * @throws Error with the counts when there is still work after `timeoutMs`
 */
export async function untilIdle(
  app: Pick<INestApplicationContext, 'get'>,
  { queue, timeoutMs = DEFAULT_TIMEOUT_MS }: UntilIdleOptions = {},
): Promise<void> {
  const inspectors: QueueInspector = app.get(QueueInspector, { strict: false });
  const inspector = queue === undefined ? inspectors : inspectors.queue(queue);
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { counts } = await inspector.snapshot();
    if (counts.queued + counts.processing + counts.retrying === 0) return;
    if (performance.now() > deadline) {
      throw new Error(`There is still work after ${timeoutMs} ms: ${JSON.stringify(counts)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
