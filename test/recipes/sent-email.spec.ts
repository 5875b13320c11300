/** Recipe "An e-mail, which cannot be taken back" of docs/recipes-sql.md: what each order risks, on a real Postgres. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { usePostgres } from './postgres.js';

const sql = usePostgres('CREATE TABLE sent_email (operation_key text PRIMARY KEY, sent_at timestamptz)');

class Crash extends Error {}

/** The provider, which knows nothing of our database; and one that drops repeated keys, as some do. */
const inbox: string[] = [];
const seenKeys = new Set<string>();
const send = (key: string): void => void inbox.push(key);
const sendWithKey = (key: string): void => {
  if (!seenKeys.has(key)) inbox.push(key);
  seenKeys.add(key);
};

beforeEach(async () => {
  inbox.length = 0;
  seenKeys.clear();
  await sql.change('DELETE FROM sent_email');
});

interface Attempt {
  readonly send: (key: string) => void;
  /** The process dies between the two steps. */
  readonly crashes?: boolean;
}

/** At most once: a crash in between loses the e-mail. */
async function recordThenSend(key: string, attempt: Attempt): Promise<void> {
  const first = await sql.change(
    'INSERT INTO sent_email (operation_key, sent_at) VALUES ($1, now()) ON CONFLICT DO NOTHING',
    [key],
  );
  if (first === 0) return;
  if (attempt.crashes) throw new Crash();
  attempt.send(key);
}

/** At least once: a crash in between sends it again. */
async function sendThenRecord(key: string, attempt: Attempt): Promise<void> {
  const sent = await sql.rows('SELECT 1 FROM sent_email WHERE operation_key = $1', [key]);
  if (sent.length > 0) return;
  attempt.send(key);
  if (attempt.crashes) throw new Crash();
  await sql.change('INSERT INTO sent_email (operation_key, sent_at) VALUES ($1, now())', [key]);
}

/** A third state for a person: begun, and nobody knows how it ended. */
async function recordBoth(key: string, attempt: Attempt): Promise<'sent' | 'unknown'> {
  const first = await sql.change(
    'INSERT INTO sent_email (operation_key) VALUES ($1) ON CONFLICT DO NOTHING',
    [key],
  );
  if (first === 0) {
    const [row] = await sql.rows<{ sent: boolean }>(
      'SELECT sent_at IS NOT NULL AS sent FROM sent_email WHERE operation_key = $1',
      [key],
    );
    return row?.sent ? 'sent' : 'unknown';
  }
  attempt.send(key);
  if (attempt.crashes) throw new Crash();
  await sql.change('UPDATE sent_email SET sent_at = now() WHERE operation_key = $1', [key]);
  return 'sent';
}

const ORDERS = { recordThenSend, sendThenRecord, recordBoth };

it.each(Object.entries(ORDERS))('%s sends once when nothing goes wrong', async (_name, run) => {
  await run('welcome:7', { send });
  await run('welcome:7', { send });
  expect(inbox).toEqual(['welcome:7']);
});

describe('when the process dies in between and the job runs again', () => {
  const crashAndRepeat = async (
    run: (key: string, attempt: Attempt) => Promise<unknown>,
    attempt: Attempt,
  ) => {
    await expect(run('welcome:7', { ...attempt, crashes: true })).rejects.toBeInstanceOf(Crash);
    return run('welcome:7', attempt);
  };

  it('recording first loses the e-mail', async () => {
    await crashAndRepeat(recordThenSend, { send });
    expect(inbox).toEqual([]);
  });

  it('sending first sends it twice', async () => {
    await crashAndRepeat(sendThenRecord, { send });
    expect(inbox).toEqual(['welcome:7', 'welcome:7']);
  });

  it('sending first with a key that the provider remembers sends it once', async () => {
    await crashAndRepeat(sendThenRecord, { send: sendWithKey });
    expect(inbox).toEqual(['welcome:7']);
    expect(await sql.rows('SELECT operation_key FROM sent_email')).toHaveLength(1);
  });

  it('recording both tells that nobody knows, and leaves it to a person', async () => {
    expect(await crashAndRepeat(recordBoth, { send })).toBe('unknown');
    const open = await sql.rows('SELECT operation_key FROM sent_email WHERE sent_at IS NULL');
    expect(open).toEqual([{ operation_key: 'welcome:7' }]);
  });
});
