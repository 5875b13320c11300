/**
 * Keeps all leases of a process alive with one call per interval, and knows when one is over: one timer watches
 * the earliest renewal and the earliest local deadline, so that a holder hears of a lost lease even while the
 * store is unreachable or a renewal hangs.
 */
import type { LockStore } from '../store/lock-store.js';
import type { HeldLease } from './lease.js';

export class LeaseRenewer {
  private readonly held = new Set<HeldLease>();
  private timer: NodeJS.Timeout | undefined;
  private timerAt = Infinity;

  constructor(private readonly store: LockStore) {}

  get leases(): readonly HeldLease[] {
    return [...this.held];
  }

  hold(lease: HeldLease): void {
    this.held.add(lease);
    this.watchUntil(Math.min(lease.renewAt, lease.deadline));
  }

  letGo(lease: HeldLease): void {
    this.held.delete(lease);
    if (this.held.size === 0) this.stop();
  }

  /** @throws what the store throws; the leases then stay as they are. */
  async renew(leases: readonly HeldLease[]): Promise<void> {
    const sentAt = performance.now();
    for (const lease of leases) lease.renewing(sentAt);
    const lost = new Set(
      await this.store.renew(
        leases.map(({ name, owner, fencingToken, ttlMs }) => ({ name, owner, token: fencingToken, ttlMs })),
      ),
    );
    for (const lease of leases) {
      if (lost.has(lease.owner)) {
        this.held.delete(lease);
        lease.lose('it expired at the store, or was deleted there');
      } else {
        lease.renewed(sentAt);
      }
    }
  }

  private tick(): void {
    const now = performance.now();
    for (const lease of this.held) lease.noticeExpiry(now);
    let due = false;
    for (const lease of this.held) {
      if (!lease.isHeld) this.held.delete(lease);
      else due ||= lease.renewAt <= now;
    }
    // Also those that are not quite due: from then on they are in step, whenever they began.
    if (due) this.renew(inStep([...this.held], now)).catch(ignoreOutage);
    let next = Infinity;
    for (const { renewAt, deadline } of this.held) next = Math.min(next, renewAt, deadline);
    this.watchUntil(next);
  }

  /** Re-arms the one timer only when something is due earlier than what it waits for. */
  private watchUntil(time: number): void {
    if (time >= this.timerAt) return;
    clearTimeout(this.timer);
    this.timerAt = time;
    const delayMs = Math.max(0, Math.ceil(time - performance.now()));
    // A lease alone does not keep the process alive; what it protects does.
    this.timer = setTimeout(() => {
      this.timerAt = Infinity;
      this.tick();
    }, delayMs).unref();
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.timerAt = Infinity;
  }
}

/** Those that have used up half of their interval or more; a long lease is not renewed at the pace of a short one. */
function inStep(leases: readonly HeldLease[], now: number): readonly HeldLease[] {
  return leases.filter(({ renewAt, interval }) => renewAt - now <= interval / 2);
}

/** The local deadlines decide what it means for the holders. */
function ignoreOutage(): void {}
