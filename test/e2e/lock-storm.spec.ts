/**
 * 2,000 acquires at once over 8 processes that are stopped and continued at random. Judged from outside: by the
 * commands that Redis reports, and by a row in Postgres whose history a trigger writes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { startServer, type StartedServer } from '#scripts/find-redis.mjs';
import { HolderRecord } from '../support/holder-record.js';
import { startLockChildren } from '../support/lock-child.js';
import type { WriteMessage } from '../support/lock-protocol.js';
import { newPrefix, openRedis } from '../support/redis.js';

const PROCESSES = 8;
const ACQUIRES = 2_000;
const NAMES = Array.from({ length: 8 }, (_, i) => `invoice:${i}`);
const TTL_MS = 300;
const STOPS = 6;
const LONGEST_STOP_MS = 500;
const LONGEST_RUN_MS = 250;
/** So many writes are held up, for up to this long: much longer than a lease. */
const DELAYED_SHARE = 0.1;
const LONGEST_DELAY_MS = 1_000;

let server: StartedServer;
let redis: Redis;
let monitor: Redis;
let db: PGlite;

beforeAll(async () => {
  server = await startServer();
  redis = openRedis(server.url);
  monitor = await redis.monitor();
  db = await PGlite.create();
  await db.exec(`
    CREATE TABLE invoice (name text PRIMARY KEY, fence bigint NOT NULL DEFAULT 0, owner text);
    CREATE TABLE history (n bigserial, name text, fence bigint);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO history (name, fence) VALUES (NEW.name, NEW.fence); RETURN NULL; END $$;
    CREATE TRIGGER note AFTER UPDATE ON invoice FOR EACH ROW EXECUTE FUNCTION note();
  `);
  for (const name of NAMES) await db.query('INSERT INTO invoice (name) VALUES ($1)', [name]);
}, 30_000);
afterAll(async () => {
  monitor.disconnect();
  redis.disconnect();
  await Promise.all([server.stop(), db.close()]);
});

it('never two holders, rising tokens, and a fenced row that never goes back', async () => {
  const prefix = newPrefix();
  const record = new HolderRecord(':holder');
  monitor.on('monitor', (time: string, args: string[]) => record.see(time, args));

  let refused = 0;
  const writes: Promise<void>[] = [];
  const write = async ({ name, token, owner }: WriteMessage): Promise<void> => {
    if (Math.random() < DELAYED_SHARE) await sleep(Math.random() * LONGEST_DELAY_MS);
    const { affectedRows } = await db.query(
      'UPDATE invoice SET fence = $1, owner = $2 WHERE name = $3 AND (fence < $1 OR (fence = $1 AND owner = $2))',
      [token, owner, name],
    );
    if (affectedRows === 0) refused += 1;
  };

  const children = await startLockChildren(PROCESSES, { url: server.url, prefix });
  for (const child of children) {
    child.onWrite = (message) => {
      writes.push(write(message));
      // Longer than its lease, so that another has the lock when it wakes up in the middle of its work.
      if (message.stops) void sleep(TTL_MS * (1.2 + Math.random())).then(() => child.kill('SIGCONT'));
    };
  }
  let over = false;
  try {
    const acquires = ACQUIRES / PROCESSES;
    for (const child of children) {
      child.tell({ kind: 'storm', names: NAMES, acquires, ttlMs: TTL_MS, waitMs: 60_000 });
    }
    const stopping = (async () => {
      for (let i = 0; i < STOPS && !over; i += 1) {
        const child = children[Math.floor(Math.random() * children.length)];
        child?.kill('SIGSTOP');
        await sleep(Math.random() * LONGEST_STOP_MS);
        child?.kill('SIGCONT');
        await sleep(Math.random() * LONGEST_RUN_MS);
      }
    })();
    const reports = await Promise.all(children.map((child) => child.hears('storm over', 100_000)));
    over = true;
    await stopping;
    expect(reports.flatMap(({ failures }) => failures)).toEqual([]);
    // Leases were really lost, or nothing was tried.
    expect(reports.reduce((sum, { lost }) => sum + lost, 0)).toBeGreaterThan(0);
  } finally {
    over = true;
    await Promise.all(children.map((child) => child.end()));
    await Promise.allSettled(writes);
  }

  expect(record.violations).toEqual([]);
  expect(record.expiries).toBeGreaterThan(0);
  const granted = [...record.tokens.values()].reduce((sum, tokens) => sum + tokens.length, 0);
  expect(granted).toBeGreaterThanOrEqual(ACQUIRES);
  expect(writes).toHaveLength(ACQUIRES);

  const { rows } = await db.query<{ name: string; fence: string }>(
    'SELECT name, fence::text FROM history ORDER BY n',
  );
  for (const name of NAMES) {
    const fences = rows.filter((row) => row.name === name).map(({ fence }) => Number(fence));
    expect(fences.length).toBeGreaterThan(0);
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
  }
  expect(refused).toBeGreaterThan(0);
  expect(rows).toHaveLength(ACQUIRES - refused);
}, 120_000);
