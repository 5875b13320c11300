/** Turns what a handler hands over into JSON text, or says why that cannot be stored. */
import { CheckpointUnstorableError, ResultUnstorableError } from '../errors/errors.js';

/**
 * The result as JSON text, `undefined` when the handler returned nothing.
 * @throws ResultUnstorableError
 */
export function resultText(jobType: string, result: unknown, limitBytes: number): string | undefined {
  if (result === undefined) return undefined;
  return jsonText(result, limitBytes, (problem) => new ResultUnstorableError(jobType, problem));
}

/** @throws CheckpointUnstorableError */
export function checkpointText(jobId: string, value: unknown, limitBytes: number): string {
  return jsonText(value, limitBytes, (problem) => new CheckpointUnstorableError(jobId, problem));
}

function jsonText(value: unknown, limitBytes: number, refuse: (problem: string) => Error): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : 'it is not JSON');
  }
  // JSON.stringify answers undefined for what JSON has no form for: a function, a symbol, undefined.
  if (text === undefined) throw refuse(`${typeof value} is not JSON`);
  const bytes = Buffer.byteLength(text);
  if (bytes > limitBytes) throw refuse(`it has ${bytes} bytes, the limit is ${limitBytes}`);
  return text;
}
