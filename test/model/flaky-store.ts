/**
 * The memory store at the far end of a bad network: when a worker's call arrives, when its answer does, and in which
 * order, is up to fast-check's scheduler; some calls and some answers never arrive, and some arrive after their
 * sender has given them up.
 */
import type { Scheduler } from 'fast-check';
import { StoreUnavailableError } from '#lib/errors/errors.js';
import type {
  HeldLease,
  LaneCall,
  LaneReply,
  RenewReply,
  WakeListener,
  WorkerInfo,
} from '#lib/store/job-store.js';
import { MemoryJobStore, type MemoryJobStoreOptions } from '#lib/store/memory/memory-job-store.js';

/** `late`: it is carried out, but only some time after its sender was told that it failed. */
export type Fate = 'arrives' | 'call is lost' | 'answer is lost' | 'late';

export interface Network {
  readonly scheduler: Scheduler;
  /** What becomes of the next call. */
  readonly nextFate: () => Fate;
  /** Hears every call of a lane when it is sent, again when it is sent again. */
  readonly onCall: (call: LaneCall) => void;
}

export class FlakyStore extends MemoryJobStore {
  constructor(
    options: MemoryJobStoreOptions,
    private readonly network: Network,
  ) {
    super(options);
  }

  override exchange(call: LaneCall): Promise<LaneReply> {
    this.network.onCall(call);
    return this.travel(`call ${call.number} of lane ${call.lane}`, () => super.exchange(call));
  }

  override renew(worker: WorkerInfo, leases: readonly HeldLease[], leaseMs: number): Promise<RenewReply> {
    return this.travel(`heartbeat with ${leases.length}`, () => super.renew(worker, leases, leaseMs));
  }

  override signOff(workerId: string): Promise<void> {
    return this.travel('sign-off', () => super.signOff(workerId));
  }

  override count(stat: 'runaways', amount: number): Promise<void> {
    return this.travel('count', () => super.count(stat, amount));
  }

  override wake(): Promise<void> {
    return this.travel('wake', () => super.wake());
  }

  override listenForWork(): WakeListener {
    const listener = super.listenForWork();
    return {
      wait: async (timeoutMs) => {
        const heard = await listener.wait(timeoutMs);
        await this.network.scheduler.schedule(Promise.resolve(), 'a listener hears');
        return heard;
      },
      close: () => listener.close(),
    };
  }

  private async travel<T>(name: string, carryOut: () => Promise<T>): Promise<T> {
    const { scheduler } = this.network;
    const fate = this.network.nextFate();
    const next = (what: string): Promise<void> => scheduler.schedule(Promise.resolve(), `${name} ${what}`);
    if (fate === 'late') {
      void this.arriveLate(name, carryOut);
      await next('fails');
      throw new StoreUnavailableError('the network is bad');
    }
    await next('arrives');
    if (fate === 'call is lost') throw new StoreUnavailableError('the network is bad');
    const answer = await carryOut();
    await next('is answered');
    if (fate === 'answer is lost') throw new StoreUnavailableError('the network is bad');
    return answer;
  }

  private async arriveLate(name: string, carryOut: () => Promise<unknown>): Promise<void> {
    const { scheduler } = this.network;
    await scheduler.schedule(Promise.resolve(), `${name} is given up`);
    await scheduler.schedule(Promise.resolve(), `${name} arrives late`);
    // Nobody is there any more to hear what it says, a refusal included.
    await carryOut().catch(() => {});
  }
}
