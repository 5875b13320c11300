/** A place of a worker or producer: whoever dies there is followed by another, through the same proxy. */
import { monotonicNow } from '../history/entry.js';
import type { HistoryWriter } from '../history/history-writer.js';
import { FaultProxy } from '../faults/fault-proxy.js';
import type { ChaosProcessOptions } from '../processes/protocol.js';
import { ChaosChild, type Role } from './chaos-child.js';

export interface SlotSettings {
  readonly role: Role;
  readonly name: string;
  readonly proxy: FaultProxy;
  readonly history: HistoryWriter;
  readonly options: Omit<ChaosProcessOptions, 'name' | 'url'>;
  readonly clockShiftMs: number;
}

const EXIT_TIMEOUT_MS = 15_000;

export class ChaosSlot {
  private generation = 0;
  private child: ChaosChild | undefined;
  readonly complaints: string[] = [];
  /** Those whose end was brought about. */
  private readonly endings = new Set<ChaosChild>();
  /** Those that kill themselves when they reap, which may be at once. */
  private readonly suicidal = new Set<ChaosChild>();

  constructor(private readonly settings: SlotSettings) {}

  get proxy(): FaultProxy {
    return this.settings.proxy;
  }

  get role(): Role {
    return this.settings.role;
  }

  get current(): ChaosChild {
    if (!this.child) throw new Error(`nothing runs in ${this.settings.name}`);
    return this.child;
  }

  get isAlive(): boolean {
    return this.child !== undefined && !this.child.hasExited;
  }

  /** `changes`: for this process, not for the next one. */
  async spawn(changes: Partial<ChaosProcessOptions> = {}, waitUntilReady = true): Promise<void> {
    const { role, name, proxy, options, clockShiftMs } = this.settings;
    this.generation += 1;
    this.child = new ChaosChild(
      role,
      { ...options, name: `${name}.${this.generation}`, url: proxy.url, ...changes },
      clockShiftMs,
    );
    if (changes.diesWhenReaping) this.suicidal.add(this.child);
    void this.noteDeath(this.child);
    if (waitUntilReady) await this.child.ready();
  }

  private async noteDeath(child: ChaosChild): Promise<void> {
    const code = await child.exited;
    if (this.endings.has(child)) return;
    const { name: target, pid, complaints: output } = child;
    if (this.suicidal.has(child)) this.settings.history.record({ kind: 'killed', pid, target });
    else this.settings.history.record({ kind: 'died', target, code, output });
  }

  /** With SIGKILL, and without a successor. */
  async kill(): Promise<void> {
    this.endings.add(this.current);
    const { name, pid, exited } = this.current;
    this.settings.history.record({ kind: 'killed', pid, target: name });
    this.current.signal('SIGKILL');
    await exited;
  }

  /** Waits for a process that kills itself. */
  async died(): Promise<void> {
    await this.current.exited;
  }

  pause(): void {
    this.fault('SIGSTOP');
    this.current.signal('SIGSTOP');
  }

  resume(): void {
    this.current.signal('SIGCONT');
  }

  /** Asks it to end, and records how it did. One that does not is killed; the checker sees that. */
  async terminate(): Promise<void> {
    if (!this.isAlive) return;
    const { current } = this;
    this.endings.add(current);
    const startedAt = monotonicNow();
    current.signal('SIGCONT');
    current.signal('SIGTERM');
    const killer = setTimeout(() => current.signal('SIGKILL'), EXIT_TIMEOUT_MS);
    const code = await current.exited;
    clearTimeout(killer);
    const tookMs = monotonicNow() - startedAt;
    this.settings.history.record({ kind: 'exited', target: current.name, code, tookMs });
    if (current.complaints !== '') this.complaints.push(`${current.name}: ${current.complaints}`);
  }

  /** Also one that is stopped or does not react. */
  async destroy(): Promise<void> {
    if (!this.child) return;
    this.endings.add(this.child);
    this.child.signal('SIGKILL');
    await this.child.exited;
  }

  private fault(fault: string): void {
    this.settings.history.record({ kind: 'fault', fault, target: this.current.name });
  }
}
