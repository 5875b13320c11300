/** The ACL rules of docs/security.md are enough, each of them is needed, and they give nothing else. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { RedisConnectionOptions } from '#lib/store/redis/connection.js';
import { IncompatibleStoreError } from '@fenceline/nestjs';
import { openBackend } from '#lib/nest/store-backend.js';
import { resolveOptions } from '#lib/options/resolve-options.js';
import { startServer, type StartedServer } from '#scripts/find-redis.mjs';
import { openRedis } from '../support/redis.js';
import { documentedUser, type AclUser } from './acl-rules.js';
import { exerciseProducer, exerciseWorker } from './exercise.js';

let server: StartedServer;
let admin: Redis;
beforeAll(async () => {
  server = await startServer({ args: ['--maxmemory-policy', 'allkeys-lru'] });
  admin = openRedis(server.url);
  // Without INFO ioredis says on the console that it cannot see whether Redis is loading.
  jest.spyOn(console, 'warn').mockImplementation(() => {});
});
afterAll(async () => {
  jest.restoreAllMocks();
  admin.disconnect();
  await server.stop();
});

async function connectAs(
  { name, password }: AclUser,
  rules: readonly string[],
): Promise<RedisConnectionOptions> {
  await admin.call('ACL', 'SETUSER', name, 'reset', ...rules);
  return { redis: { host: '127.0.0.1', port: server.port, username: name, password } };
}

/** What Redis refused since the last look, without what ioredis tries for the sake of CLIENT LIST. */
async function refusals(): Promise<string[]> {
  const log = (await admin.call('ACL', 'LOG')) as unknown[];
  await admin.call('ACL', 'LOG', 'RESET');
  return log.map((entry) => JSON.stringify(entry)).filter((entry) => !/client\|setinfo/i.test(entry));
}

/** Without these the question cannot be asked, and no script does anything; or they are about channels. */
const ASKED_ELSEWHERE = ['+ping', '+info', '+eval', '+evalsha', '+time', '+publish', '+subscribe'];

async function boot(connection: RedisConnectionOptions, worker: boolean): Promise<void> {
  const options = resolveOptions({ connection, worker });
  const backend = await openBackend(options, { log: () => {}, warn: () => {}, error: () => {} });
  await backend.close();
}

const USERS = [
  { name: 'fenceline-worker', exercise: exerciseWorker },
  { name: 'fenceline-producer', exercise: exerciseProducer },
].map((each) => ({ ...each, user: documentedUser(each.name) }));

describe.each(USERS)('the rules of $name', ({ name, user, exercise }) => {
  /** All but whether it may log in, and how. */
  const grants = user.rules.filter((rule) => /^[+~&]/.test(rule));

  it('are enough', async () => {
    const connection = await connectAs(user, user.rules);
    await refusals();
    expect(await exercise(server.url, connection)).toEqual([]);
    expect(await refusals()).toEqual([]);
  });

  it('are asked for at boot, before a script can stop halfway', async () => {
    const scripted = grants.filter((rule) => rule.startsWith('+') && !ASKED_ELSEWHERE.includes(rule));
    const others = user.rules.filter((rule) => !scripted.includes(rule));
    const connection = await connectAs(user, others);
    const error: unknown = await boot(connection, name === 'fenceline-worker').catch(
      (refusal: unknown) => refusal,
    );
    expect(error).toBeInstanceOf(IncompatibleStoreError);
    const named = /ACL SETUSER and: (.*?)\. docs\/security\.md/.exec(String(error))?.[1]?.split(' ');
    expect(named?.toSorted()).toEqual(scripted.toSorted());
    await connectAs(user, user.rules);
    await boot(connection, name === 'fenceline-worker');
  });

  it('name single commands, and keys and channels of the prefix', () => {
    expect(user.rules.filter((rule) => !grants.includes(rule))).toEqual(['on', `>${user.password}`]);
    for (const rule of grants) expect(rule).toMatch(/^(\+[a-z]+|~fl:\S+|&fl:\S+)$/);
  });

  it.each(grants)('need %s', async (rule) => {
    const connection = await connectAs(
      user,
      user.rules.filter((other) => other !== rule),
    );
    expect(await exercise(server.url, connection)).not.toEqual([]);
  });
});
