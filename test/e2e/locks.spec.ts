/** Locks between processes and on broken connections, on a Redis of their own that may be emptied and counted. */
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Lease, LockService } from '@fenceline/nestjs';
import { startServer, type StartedServer } from '#scripts/find-redis.mjs';
import { eventually } from '../support/eventually.js';
import { startLockChildren, type LockChild } from '../support/lock-child.js';
import { openLockService, type OpenedLocks } from '../support/lock-service.js';
import { newPrefix, openRedis } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';

let server: StartedServer;
let redis: Redis;
let prefix: string;
let opened: OpenedLocks[];
let children: LockChild[];

beforeAll(async () => {
  server = await startServer();
  redis = openRedis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(() => {
  prefix = newPrefix();
  opened = [];
  children = [];
});
afterEach(async () => {
  await Promise.all(children.map((child) => child.end()));
  await Promise.all(opened.map((locks) => locks.close()));
});

async function open(url = server.url, commandTimeoutMs?: number): Promise<LockService> {
  const locks = await openLockService(url, prefix, commandTimeoutMs);
  opened.push(locks);
  return locks.locks;
}

async function startChild(): Promise<LockChild> {
  const [child] = await startLockChildren(1, { url: server.url, prefix });
  if (!child) throw new Error('no child');
  children.push(child);
  return child;
}

const waiters = (locks: LockService, count: number, name = 'x') =>
  eventually(async () => (await locks.inspect(name)).waiters.length === count, { what: `${count} waiters` });

/** Channels on which somebody listens for grants. */
const listeners = async (count: number) =>
  eventually(async () => (await redis.pubsub('CHANNELS', `${prefix}:*`)).length === count, {
    what: `${count} listening processes`,
  });

async function calls(): Promise<Record<string, number>> {
  const info = await redis.info('commandstats');
  return Object.fromEntries(
    [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = '', count]) => [name, Number(count)]),
  );
}

describe('the line', () => {
  /** Commands per hand-over, by name: those of the clients and those inside scripts. */
  async function measure(count: number): Promise<Record<string, number>> {
    const name = `line-${count}`;
    const processes = [await open(), await open(), await open()];
    const [first] = processes;
    if (!first) throw new Error('no process');
    // Everyone has waited once before, so that the subscriptions stand.
    let held = await first.acquire(name);
    const subscribed = processes.map((locks) => locks.acquire(name).then((lease) => lease.release()));
    await waiters(first, processes.length, name);
    await listeners(processes.length);
    await held.release();
    await Promise.all(subscribed);

    held = await first.acquire(name);
    const order: number[] = [];
    const waiting = [];
    for (let i = 0; i < count; i += 1) {
      const locks = processes[i % processes.length] ?? first;
      const taken = locks.acquire(name).then((lease) => {
        order.push(i);
        return lease.release();
      });
      waiting.push(taken);
      await waiters(first, i + 1, name);
    }
    await redis.config('RESETSTAT');
    await held.release();
    await Promise.all(waiting);
    const counted = await calls();
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order).toHaveLength(count);
    await Promise.all(opened.splice(0).map((locks) => locks.close()));
    return Object.fromEntries(Object.entries(counted).map(([command, total]) => [command, total / count]));
  }

  it('costs the same few commands per hand-over, however many wait, in the order of arrival', async () => {
    const few = await measure(10);
    const many = await measure(100);
    const total = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0);
    // What clients send: one release, one take-up.
    expect(many.evalsha).toBeLessThan(2.1);
    expect(many.publish).toBe(1);
    expect(total(many)).toBeLessThan(20);
    // The ends of the line count for more when it is short.
    expect(total(many)).toBeLessThan(total(few) + 1);
  });

  it('is not held up by a dead process at its head', async () => {
    const locks = await open();
    const held = await locks.acquire('x');
    const dead = await startChild();
    dead.tell({ kind: 'acquire', name: 'x', ttlMs: 60_000, waitMs: 60_000 });
    await waiters(locks, 1);
    await listeners(1);
    const next = locks.acquire('x');
    await waiters(locks, 2);
    await listeners(2);
    await dead.end();
    await listeners(1);

    const before = performance.now();
    await held.release();
    await next;
    expect(performance.now() - before).toBeLessThan(1_000);
  });

  it('goes on when the holder was killed, as soon as its time is over', async () => {
    const locks = await open();
    const dead = await startChild();
    dead.tell({ kind: 'acquire', name: 'x', ttlMs: 600, waitMs: 0 });
    const { owner } = await dead.hears('acquired');
    const waiting = ['a', 'b', 'c'].map(() => locks.acquire('x').then((lease) => lease.release()));
    await waiters(locks, 3);
    await dead.end();
    const before = performance.now();
    await Promise.all(waiting);
    expect(performance.now() - before).toBeLessThan(1_500);
    expect((await locks.inspect('x')).holder?.owner).not.toBe(owner);
  });

  it('goes on when a process was killed after it was given the lock', async () => {
    const locks = await open();
    const child = await startChild();
    const held = await locks.acquire('x');
    child.tell({ kind: 'acquire', name: 'x', ttlMs: 600, waitMs: 60_000 });
    await waiters(locks, 1);
    await listeners(1);
    // It cannot hear the grant that it is sent.
    child.kill('SIGSTOP');
    const next = locks.acquire('x');
    await waiters(locks, 2);
    await held.release();
    expect((await locks.inspect('x')).holder?.owner).not.toBe((await next).owner);
  });
});

describe('tokens', () => {
  it('rise even if everything was deleted in between', async () => {
    const locks = await open();
    const former = await locks.acquire('x');
    await redis.flushall();
    const current = await locks.acquire('x');
    expect(current.fencingToken).toBeGreaterThan(former.fencingToken);
    expect(await former.release()).toBe(false);
    await expect(former.extend()).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(await current.release()).toBe(true);
  });
});

describe('broken connections', () => {
  it('CLIENT KILL of every connection costs neither the holder nor the waiter the lock', async () => {
    const [mine, theirs] = [await open(), await open()];
    const held = await mine.acquire('x', { ttlMs: 1_500 });
    const next = theirs.acquire('x');
    await waiters(mine, 1);
    await listeners(1);
    for (const type of ['pubsub', 'normal'])
      await redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
    const { deadline } = held;
    await eventually(() => held.deadline > deadline, { what: 'a renewal over a new connection' });
    expect(held.signal.aborted).toBe(false);
    await listeners(1);
    expect(await held.release()).toBe(true);
    expect((await next).fencingToken).toBeGreaterThan(held.fencingToken);
  });

  describe('half-open', () => {
    let proxy: TcpProxy;
    beforeEach(async () => {
      proxy = await TcpProxy.start(server.url);
    });
    afterEach(() => proxy.stop());

    it('a holder hears of its loss before another gets the lock', async () => {
      const cutOff = await open(proxy.url);
      const others = await open();
      const lease = await cutOff.acquire('x', { ttlMs: 900 });
      const lost = once(lease.signal, 'abort').then(() => performance.now());
      const next = others.acquire('x').then(async (taken: Lease) => {
        const at = performance.now();
        await taken.release();
        return at;
      });
      await waiters(others, 1);
      proxy.freeze();
      expect(await lost).toBeLessThan(await next);
      expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST' });
    });

    it('a waiter that cannot hear its grant gets the lock all the same', async () => {
      const cutOff = await open(proxy.url, 500);
      const others = await open();
      const held = await others.acquire('x', { ttlMs: 1_000 });
      const next = cutOff.acquire('x', { waitMs: 20_000 });
      await waiters(others, 1);
      await listeners(1);
      proxy.freeze();
      await held.release();
      const lease = await next;
      expect(lease.fencingToken).toBeGreaterThan(held.fencingToken);
      await lease.release();
    });
  });
});
