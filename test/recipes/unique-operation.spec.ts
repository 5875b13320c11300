/** Recipe "An operation that happens once" of docs/recipes-sql.md, on a real Postgres. */
import { expect, it } from '@jest/globals';
import { usePostgres } from './postgres.js';

const sql = usePostgres(`
  CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
  CREATE TABLE payment (
    operation_key text PRIMARY KEY,
    account_id int NOT NULL REFERENCES account,
    amount int NOT NULL
  );
  INSERT INTO account VALUES (1, 100);
`);

/** Effect and key in one statement, hence in one transaction: both or neither. */
async function pay(key: string, accountId: number, amount: number): Promise<'paid' | 'already paid'> {
  const changed = await sql.change(
    `WITH first AS (
       INSERT INTO payment (operation_key, account_id, amount) VALUES ($1, $2, $3)
       ON CONFLICT (operation_key) DO NOTHING
       RETURNING account_id, amount
     )
     UPDATE account SET balance = balance - first.amount FROM first WHERE account.id = first.account_id`,
    [key, accountId, amount],
  );
  if (changed > 0) return 'paid';
  const [earlier] = await sql.rows<{ same: boolean }>(
    'SELECT account_id = $2 AND amount = $3 AS same FROM payment WHERE operation_key = $1',
    [key, accountId, amount],
  );
  if (!earlier?.same) throw new Error(`operation "${key}" was done with other values`);
  return 'already paid';
}

const balance = async (): Promise<number | undefined> =>
  (await sql.rows<{ balance: number }>('SELECT balance FROM account WHERE id = 1'))[0]?.balance;

it('pays once, however often and however concurrently it is asked', async () => {
  const answers = await Promise.all(Array.from({ length: 5 }, () => pay('order:1', 1, 10)));
  expect(answers.filter((answer) => answer === 'paid')).toHaveLength(1);
  expect(await pay('order:1', 1, 10)).toBe('already paid');
  expect(await balance()).toBe(90);
  expect(await pay('order:2', 1, 10)).toBe('paid');
  expect(await balance()).toBe(80);
});

it('refuses the same key for something else', async () => {
  await pay('order:3', 1, 10);
  await expect(pay('order:3', 1, 11)).rejects.toThrow('other values');
});

it('leaves no key behind when the effect fails', async () => {
  await expect(pay('order:4', 404, 10)).rejects.toThrow('foreign key');
  expect(await sql.rows('SELECT 1 FROM payment WHERE operation_key = $1', ['order:4'])).toEqual([]);
});
