/** Everything that an app prints, at every level, holds no payload, result, checkpoint or password. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LOUD_VARIABLE, SECRETS, type LoudOptions } from '../support/loud-protocol.js';
import { OwnRedis } from '../support/own-redis.js';
import { fixture } from '../support/worker-child.js';

/** All that the loud process writes until it ends, to both of its outputs. */
async function outputOf(options: LoudOptions): Promise<string> {
  const child = spawn(process.execPath, [fixture('loud-process')], {
    env: { PATH: process.env.PATH, NO_COLOR: '1', [LOUD_VARIABLE]: JSON.stringify(options) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const collect = (text: string): void => void (output += text);
  child.stdout.setEncoding('utf8').on('data', collect);
  child.stderr.setEncoding('utf8').on('data', collect);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`It ended with ${code}: ${output}`);
  return output;
}

describe.each(['text', 'object'] as const)('what an app prints with logging: %s', (logging) => {
  let redis: OwnRedis;
  let output: string;
  beforeAll(async () => {
    redis = await OwnRedis.start();
    output = await outputOf({ url: redis.url, logging });
  });
  afterAll(() => redis.close());

  it.each([
    ['a job that succeeds', /enqueued[^]*succeed[^]*acquired[^]*done/],
    ['a retry', /retry_scheduled[^]*the mail server is away/],
    ['a job that dies', /permanent_error[^]*no such customer/],
    ['a payload that does not fit', /payload_invalid[^]*The payload of .*strict.* is not valid: word/],
    ['a payload that cannot be transformed', /The payload of .*transformed.* is not valid: payload/],
    ['a result that is too large', /result_unstorable/],
    ['a spec that is damaged', /spec_unreadable[^]*it is not JSON/],
    ['a checkpoint that is damaged', /The checkpoint of job .*resume.* is not JSON/],
    ['a result of an operation that cannot be kept', /idempotency_unreplayable/],
    ['an enqueue that is refused by validation', /PayloadValidationError[^]*shorter than or equal to 3/],
    ['an enqueue while Redis is full', /EnqueueRefusedError[^]*OOM command not allowed/],
    ['an enqueue that the ACL forbids', /EnqueueRefusedError[^]*NOPERM[^]*docs\/security\.md/],
    ['a wrong password', /refused the user name or the password/],
  ])('tells of %s', (_what, line) => {
    expect(output).toMatch(line);
  });

  it.each(Object.entries(SECRETS))('does not tell the %s', (_what, secret) => {
    const lines = output.split('\n');
    expect(lines.filter((line) => line.includes(secret))).toEqual([]);
  });
});
