/** The app's settings, read once from the environment and checked before anything starts. */

/** `all`: API and workers in one process. `api`: only enqueues. `worker`: only runs jobs. */
export type Role = 'all' | 'api' | 'worker';

/** What Node's timers can count. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A setting that cannot work. The message is one line for the person who started the process. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(variable: string, problem: string) {
    super(`${variable} ${problem}`);
  }
}

/** A class and not an interface, so that it is its own injection token. */
export class AppConfig {
  readonly role: Role;
  /** Port of the HTTP API; 0 picks a free one. */
  readonly port: number;
  /** `undefined`: jobs and caches live in this process's memory. */
  readonly redisUrl: string | undefined;
  /** `undefined`: invoices live in this process's memory. */
  readonly databaseUrl: string | undefined;
  /** First part of every Redis key, so that several installations can share one Redis. */
  readonly prefix: string;
  /** What `authorization: Bearer …` must carry for admin routes. `undefined`: those routes are off. */
  readonly adminToken: string | undefined;
  /** `undefined`: e-mails become files in `outboxDir`. */
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  readonly outboxDir: string;
  /** A cached copy older than this is not served any more, ms. */
  readonly cacheMaxAgeMs: number;
  /** How long the simulated source takes for one page, ms. */
  readonly sourceDelayMs: number;
  /** How long the simulated accounting system takes for one invoice, ms. */
  readonly accountingDelayMs: number;
  /** How long an invoice stays locked after the process that syncs it fell silent, ms. */
  readonly invoiceLockTtlMs: number;
  /** How long a sync waits for another one of the same invoice, ms. */
  readonly invoiceLockWaitMs: number;
  /** Health port of a worker process, which has no HTTP API. `undefined`: none. */
  readonly workerHealthPort: number | undefined;

  /** @throws ConfigError for the first setting that cannot work. */
  constructor(env: Readonly<Record<string, string | undefined>>, role?: Role) {
    this.role = role ?? readRole(env['ROLE']);
    this.port = readInteger('PORT', env['PORT'], { max: 65_535 }) ?? 3000;
    this.redisUrl = readUrl('REDIS_URL', env['REDIS_URL'], ['redis:', 'rediss:']);
    this.databaseUrl = readUrl('DATABASE_URL', env['DATABASE_URL'], ['postgres:', 'postgresql:']);
    this.prefix = env['FENCELINE_PREFIX'] || 'fl';
    this.adminToken = env['ADMIN_TOKEN'] || undefined;
    this.smtpUrl = readUrl('SMTP_URL', env['SMTP_URL'], ['smtp:', 'smtps:']);
    this.mailFrom = env['MAIL_FROM'] || 'Fenceline <no-reply@fenceline.example>';
    this.outboxDir = env['OUTBOX_DIR'] || 'var/outbox';
    this.cacheMaxAgeMs = readInteger('CACHE_MAX_AGE_MS', env['CACHE_MAX_AGE_MS']) ?? 60_000;
    this.sourceDelayMs = readInteger('SOURCE_DELAY_MS', env['SOURCE_DELAY_MS']) ?? 100;
    this.accountingDelayMs = readInteger('ACCOUNTING_DELAY_MS', env['ACCOUNTING_DELAY_MS']) ?? 100;
    this.invoiceLockTtlMs =
      readInteger('INVOICE_LOCK_TTL_MS', env['INVOICE_LOCK_TTL_MS'], { min: 100, max: LONGEST_TIMER_MS }) ??
      10_000;
    this.invoiceLockWaitMs =
      readInteger('INVOICE_LOCK_WAIT_MS', env['INVOICE_LOCK_WAIT_MS'], { max: LONGEST_TIMER_MS }) ?? 5_000;
    this.workerHealthPort = readInteger('WORKER_HEALTH_PORT', env['WORKER_HEALTH_PORT'], { max: 65_535 });

    if (this.role !== 'all' && this.redisUrl === undefined) {
      throw new ConfigError(
        'REDIS_URL',
        `must be set when API and workers are separate processes (this one is "${this.role}"): ` +
          'without Redis, jobs never leave the memory of the process that enqueued them.',
      );
    }
  }
}

function readRole(value: string | undefined): Role {
  if (!value || value === 'all') return 'all';
  if (value === 'api') return 'api';
  throw new ConfigError(
    'ROLE',
    `must be "all" or "api" (received "${value}"). For workers only: npm run start:worker`,
  );
}

/** An empty variable counts as unset: that is what `PORT=` in a .env file means. */
function readInteger(
  variable: string,
  value: string | undefined,
  { min = 0, max = Number.MAX_SAFE_INTEGER } = {},
): number | undefined {
  if (!value) return undefined;
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new ConfigError(variable, `must be a whole number from ${min} to ${max} (received "${value}").`);
  }
  return number;
}

/** The value is not repeated in the message: it may hold a password. */
function readUrl(
  variable: string,
  value: string | undefined,
  protocols: readonly string[],
): string | undefined {
  if (!value) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !protocols.includes(url.protocol) || !url.hostname) {
    const examples = protocols.map((protocol) => `${protocol}//host:port`).join(' or ');
    throw new ConfigError(variable, `must be a URL like ${examples}.`);
  }
  return value;
}
