/** The spec of a job: what was asked for. Written once as JSON, never touched by scripts, read here only. */
import { UnreadableSpecError } from '../errors/attempt-errors.js';

export interface JobSpec {
  readonly type: string;
  readonly payload: unknown;
  readonly createdAt: number;
  readonly maxAttempts: number | undefined;
}

export interface SpecOptions {
  readonly maxAttempts?: number | undefined;
  readonly priority?: number | undefined;
  readonly delayMs?: number | undefined;
}

/** JSON text of a spec; `payload` is JSON text already. The store puts `created_at` in front. */
export function writeSpec(type: string, payload: string, options: SpecOptions | undefined): string {
  let text = `{"type":${JSON.stringify(type)},"payload":${payload}`;
  if (options !== undefined) {
    if (options.maxAttempts !== undefined) text += `,"max_attempts":${options.maxAttempts}`;
    if (options.priority !== undefined) text += `,"priority":${options.priority}`;
    if (options.delayMs !== undefined) text += `,"delay_ms":${options.delayMs}`;
  }
  return `${text}}`;
}

/** @throws UnreadableSpecError when the text is missing, not JSON, or not a spec. */
export function readSpec(jobId: string, text: string | undefined): JobSpec {
  if (!text) throw new UnreadableSpecError(jobId, 'it is missing');
  const spec = parseObject(jobId, text);
  const { type, payload, created_at: createdAt, max_attempts: maxAttempts } = spec;
  if (typeof type !== 'string' || type === '') throw new UnreadableSpecError(jobId, '"type" is not a string');
  if (typeof createdAt !== 'number') throw new UnreadableSpecError(jobId, '"created_at" is not a number');
  if (maxAttempts !== undefined && typeof maxAttempts !== 'number') {
    throw new UnreadableSpecError(jobId, '"max_attempts" is not a number');
  }
  return { type, payload, createdAt, maxAttempts };
}

function parseObject(jobId: string, text: string): Partial<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UnreadableSpecError(jobId, error instanceof Error ? error.message : 'it is not JSON');
  }
  if (typeof value !== 'object' || value === null)
    throw new UnreadableSpecError(jobId, 'it is not a JSON object');
  return { ...value };
}
