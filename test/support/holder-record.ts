/** Rebuilds from outside who held each lock and when, out of the commands that Redis itself reports (MONITOR). */

interface Holding {
  readonly owner: string;
  readonly token: number;
  expiresAt: number;
}

export class HolderRecord {
  /** Tokens of each lock in the order in which they were granted. */
  readonly tokens = new Map<string, number[]>();
  readonly violations: string[] = [];
  /** Grants that were preceded by an expiry: the holder before had not released. */
  expiries = 0;
  private readonly holdings = new Map<string, Holding>();
  /** A grant is HSET and PEXPIRE in one script; between the two there is no expiry yet. */
  private readonly granting = new Map<string, Holding>();

  /** @param suffix of the keys that hold holders */
  constructor(private readonly suffix: string) {}

  /** One command as Redis ran it, also inside scripts. `time` in seconds. */
  see(time: string, args: readonly string[]): void {
    const [command = '', key = '', ...rest] = args;
    if (!key.endsWith(this.suffix)) return;
    const now = Number(time) * 1_000;
    switch (command.toUpperCase()) {
      case 'HSET':
        return this.grant(key, now, rest);
      case 'PEXPIRE':
        return this.expire(key, now + Number(rest[0]));
      case 'DEL':
        this.holdings.delete(key);
    }
  }

  private grant(key: string, now: number, fields: readonly string[]): void {
    const field = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
    const next = { owner: field('owner'), token: Number(field('fencing_token')), expiresAt: Infinity };
    const before = this.holdings.get(key);
    if (before) {
      this.expiries += 1;
      // Redis judges by its own clock at the start of the script, the record by the time of the report.
      if (before.expiresAt > now + 2) {
        const left = Math.round(before.expiresAt - now);
        this.violations.push(`${key}: ${next.owner} was let in while ${before.owner} had ${left} ms left`);
      }
    }
    const tokens = this.tokens.get(key) ?? [];
    if (next.token <= (tokens.at(-1) ?? 0)) {
      this.violations.push(`${key}: token ${next.token} came after ${tokens.at(-1)}`);
    }
    this.tokens.set(key, [...tokens, next.token]);
    this.granting.set(key, next);
  }

  private expire(key: string, at: number): void {
    const granted = this.granting.get(key);
    if (granted) this.holdings.set(key, granted);
    this.granting.delete(key);
    const holding = this.holdings.get(key);
    if (holding) holding.expiresAt = at;
  }
}
