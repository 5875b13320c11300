/** One store of idempotency records under the commands of the model test. */
import type { BeginReply, IdempotencyStore } from '#lib/store/idempotency-store.js';
import { KEYS, type ClaimChoice, type IdempotencyCommand } from './idempotency-commands.js';
import type { World } from './model-run.js';

interface Claim {
  readonly key: string;
  readonly owner: string;
  readonly token: number;
}

export class IdempotencyWorld implements World<IdempotencyCommand> {
  /** In the order in which they were given: the same in every store. */
  private readonly claims: Claim[] = [];
  private owners = 0;

  constructor(
    private readonly store: IdempotencyStore,
    private readonly pass: (ms: number) => Promise<void>,
  ) {}

  mayRun({ name }: IdempotencyCommand): boolean {
    return name === 'begin' || name === 'pass' || this.claims.length > 0;
  }

  async run(command: IdempotencyCommand): Promise<unknown> {
    const { store } = this;
    switch (command.name) {
      case 'begin': {
        const { key, fingerprint, leaseMs } = command;
        const last = command.again ? this.claims.findLast((claim) => claim.key === key) : undefined;
        const owner = last?.owner ?? `owner-${this.owners++}`;
        return this.note(key, owner, await store.begin(key, fingerprint, owner, leaseMs));
      }
      case 'renew': {
        const { key, token } = this.claimOf(command.claim);
        return store.renew(key, token, command.leaseMs);
      }
      case 'complete': {
        const { key, token } = this.claimOf(command.claim);
        return store.complete(key, token, command.result, command.ttlMs);
      }
      case 'release': {
        const { key, token } = this.claimOf(command.claim);
        return store.release(key, token);
      }
      case 'pass':
        return this.pass(command.ms);
      default:
        throw new Error('no such command');
    }
  }

  async look(): Promise<unknown> {
    const records = await Promise.all(KEYS.map((key) => this.store.inspect(key)));
    return records.map(
      (record, i) => record && { ...record, fencingToken: this.numberOf(KEYS[i] ?? '', record.fencingToken) },
    );
  }

  private note(key: string, owner: string, reply: BeginReply): unknown {
    if (reply.kind !== 'started') return reply;
    const { token, ...rest } = reply;
    const earlier = this.claims.filter((claim) => claim.key === key).map((claim) => claim.token);
    const isHigher = token > Math.max(0, ...earlier);
    this.claims.push({ key, owner, token });
    return { ...rest, isHigher, token: this.numberOf(key, token) };
  }

  private claimOf(choice: ClaimChoice): Claim {
    const claim = this.claims[this.claims.length - 1 - (choice % this.claims.length)];
    if (!claim) throw new Error('there was no claim to choose from');
    return claim;
  }

  /** Two stores mint different tokens: what is compared is whose they are. Each key has its own. */
  private numberOf(key: string, token: number): number {
    return this.claims.findIndex((claim) => claim.key === key && claim.token === token);
  }
}
