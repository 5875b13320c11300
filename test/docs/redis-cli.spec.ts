/** The redis-cli sessions of the documents: the same commands on real jobs give the same output. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { JobHandler, PermanentError, type Job } from '@fenceline/nestjs';
import type { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { startApp, type TestApp } from '../support/nest-app.js';
import { openRedis } from '../support/redis.js';
import { codeBlocks, readDocument } from './markdown.js';
import { execute, mask, parseSession } from './redis-cli.js';

const EMAIL = { userId: '42', email: 'ada@example.com', template: 'welcome' };

@Injectable()
class Handlers {
  finish: () => void = () => {};

  @JobHandler('send_email')
  sendEmail({ template }: typeof EMAIL): object {
    if (template === 'unknown') throw new PermanentError('no such mailbox');
    return { messageId: '<welcome-42@fenceline.example>' };
  }

  @JobHandler('build_report')
  buildReport(): Promise<void> {
    return new Promise((resolve) => void (this.finish = resolve));
  }
}

describe('redis-cli', () => {
  let app: TestApp;
  let redis: Redis;

  const start = async (): Promise<void> => {
    app = await startApp({ providers: [Handlers], options: { queues: [{ name: 'jobs' }] } });
    redis = openRedis();
  };
  afterEach(async () => {
    app.context.get(Handlers).finish();
    redis.disconnect();
    await app.close();
  });

  const becomes = (jobId: string, status: Job['status']): Promise<Job> =>
    eventually(
      async () => {
        const job = await app.inspector.get(jobId);
        return job.status === status && job;
      },
      { what: `"${jobId}" becoming ${status}` },
    );

  const check = async (document: string, workerId: string): Promise<void> => {
    const [session = '', ...others] = codeBlocks(readDocument(document), 'console');
    expect(others).toEqual([]);
    const commands = parseSession(session);
    const documented = /held:([\w.-]+)/.exec(session)?.[1] ?? workerId;
    const replace = (text: string): string =>
      text.replace('fl:{jobs}:', `${app.prefix}:{jobs}:`).replace(documented, workerId);
    expect(commands.length).toBeGreaterThan(3);
    for (const { line, output } of commands) {
      const real = await execute(redis, line, replace);
      expect(`$ ${line}\n${mask(real)}`).toBe(`$ ${line}\n${mask(output)}`);
    }
  };

  it('shows a job as the README says', async () => {
    await start();
    await app.queue.enqueue('send_email', EMAIL, { jobId: 'welcome-42' });
    const { workerId = '' } = await becomes('welcome-42', 'done');
    await check('README.md', workerId);
  });

  it('shows a queue as docs/redis-keys.md says', async () => {
    await start();
    await app.queue.enqueue('send_email', { ...EMAIL, template: 'unknown' }, { jobId: 'welcome-43' });
    await becomes('welcome-43', 'dead');
    await app.queue.enqueue('build_report', {}, { jobId: 'report-7' });
    const { workerId = '' } = await becomes('report-7', 'processing');
    await check('docs/redis-keys.md', workerId);
  });
});
