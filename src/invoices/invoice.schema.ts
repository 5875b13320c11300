/** The table of the invoices. Made by whichever process needs it first, however many start at once. */

export const INVOICE_SCHEMA = `
-- CREATE TABLE IF NOT EXISTS alone fails in one of two sessions that run it at the same moment.
SELECT pg_advisory_xact_lock(hashtext('fenceline:invoices'));
CREATE TABLE IF NOT EXISTS invoices (
  id text PRIMARY KEY,
  customer_id text NOT NULL,
  amount_cents bigint NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'syncing', 'synced', 'failed')),
  external_id text UNIQUE,
  failure text,
  fence bigint NOT NULL DEFAULT 0,
  owner text,
  created_at timestamptz NOT NULL DEFAULT now(),
  synced_at timestamptz
);
`;
