/**
 * The spec of a job: what was asked for, as JSON. Written once and read here only; scripts never decode it.
 * `payload` is the last member, so that dedup's `replace` can exchange it without decoding either.
 */
import { UnreadableSpecError } from '../errors/attempt-errors.js';
import type { EnqueueOptions } from '../options/options.js';

export interface JobSpec {
  readonly type: string;
  readonly payload: unknown;
  readonly createdAt: number;
  readonly maxAttempts: number | undefined;
  readonly resourceKey: string | undefined;
  readonly idempotencyKey: string | undefined;
}

/** JSON text of a spec; `payload` is JSON text already. The store puts `created_at` in front. */
export function writeSpec(type: string, payload: string, options: EnqueueOptions | undefined): string {
  let text = `{"type":${JSON.stringify(type)}`;
  if (options !== undefined) {
    if (options.maxAttempts !== undefined) text += `,"max_attempts":${options.maxAttempts}`;
    if (options.priority !== undefined) text += `,"priority":${options.priority}`;
    if (options.delayMs !== undefined) text += `,"delay_ms":${options.delayMs}`;
    const { resourceKey, idempotencyKey, dedup } = options;
    text += keyText('resource_key', resourceKey);
    text += keyText(
      'idempotency_key',
      typeof idempotencyKey === 'object' ? idempotencyKey.key : idempotencyKey,
    );
    text += keyText('dedup_key', dedup?.key);
  }
  return `${text},"payload":${payload}}`;
}

function keyText(field: string, key: string | undefined): string {
  return key === undefined ? '' : `,"${field}":${JSON.stringify(key)}`;
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
  return {
    type,
    payload,
    createdAt,
    maxAttempts,
    resourceKey: optionalText(spec.resource_key),
    idempotencyKey: optionalText(spec.idempotency_key),
  };
}

function parseObject(jobId: string, text: string): Partial<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // What JSON.parse says quotes the text, which is the payload.
    throw new UnreadableSpecError(jobId, 'it is not JSON');
  }
  if (!isRecord(value)) throw new UnreadableSpecError(jobId, 'it is not a JSON object');
  return value;
}

function isRecord(value: unknown): value is Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
