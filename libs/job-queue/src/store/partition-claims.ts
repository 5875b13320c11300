/**
 * Spreads the calls of a worker's lanes over the partitions: each outcome goes to its job's partition, and the free
 * slots are offered to the partitions by turns, so that none of them starves beside a busy one.
 *
 * Every partition keeps its own record of a lane's numbers. A call that is repeated goes to the same partitions for
 * the same number of jobs again, and each of them answers what it has done already.
 */
import { SupersededCallError } from '../errors/errors.js';
import type { JobStore, LaneCall, LaneReply, Settlement, SettleReply } from './job-store.js';
import type { Part, PartitionMap } from './partition-map.js';
import { PartitionRecords } from './partition-records.js';

/** What is known of the work of a partition. Times by performance.now(). */
interface Supply {
  mayHaveWork: boolean;
  wokenAt: number;
  /** When it was last known to have no work beyond what was claimed. */
  emptyAt: number;
  dueAt: number;
}

/** Part of a call: so many jobs are claimed of one partition, for the first time in this call or once more. */
interface Ask {
  readonly partition: number;
  readonly round: number;
  readonly max: number;
}

interface Plan {
  readonly number: number;
  readonly asks: Ask[];
  /** By partition: a repeated call tells the same as the first time. */
  readonly endedClaims: Map<number, readonly string[]>;
  isComplete: boolean;
}

interface Reply {
  readonly settled: SettleReply[];
  readonly parts: LaneReply[];
  taken: number;
}

type Settlements = ReadonlyMap<number, Part<Settlement>>;

/** A partition that gave all it was asked for may have more. After so many rounds it is left to the next call. */
const MOST_ROUNDS = 4;
/** Each round has a record of its own at its partition, so that all of them can be repeated. */
const LANES_PER_ROUND = 1_000;
const NOTHING_TO_SETTLE: Settlements = new Map();

export class PartitionClaims {
  private readonly supplies: readonly Supply[];
  /** By worker, then by lane. */
  private readonly plans = new Map<string, Map<number, Plan>>();
  private readonly records: PartitionRecords;
  private turn = 0;

  constructor(
    private readonly partitions: readonly JobStore[],
    private readonly map: PartitionMap,
    private readonly emptyForMs: number,
  ) {
    const unknown = { mayHaveWork: false, wokenAt: -Infinity, emptyAt: -Infinity, dueAt: Infinity };
    this.supplies = partitions.map(() => ({ ...unknown }));
    this.records = new PartitionRecords(partitions.length);
  }

  /** A wake-up came from there, after none had come from the others. */
  noteWoken(partition: number): void {
    const now = performance.now();
    for (const supply of this.supplies) supply.emptyAt = now;
    const woken = this.supplies[partition];
    if (woken) Object.assign(woken, { mayHaveWork: true, wokenAt: now });
  }

  forget(workerId: string): void {
    this.plans.delete(workerId);
  }

  async exchange(call: LaneCall): Promise<LaneReply> {
    const plan = this.planOf(call);
    this.records.noteEnded(call.workerId, call.endedClaims ?? []);
    const settlements = this.map.split(call.settlements, ({ jobId }) => this.map.ofId(jobId));
    const reply: Reply = { settled: [], parts: [], taken: 0 };
    const wave = plan.asks.length > 0 ? [...plan.asks] : this.nextWave(plan, call.claimMax);
    await this.send(call, wave, settlements, reply);
    while (!plan.isComplete) {
      const further = this.nextWave(plan, call.claimMax - reply.taken);
      if (further.length === 0) plan.isComplete = true;
      else await this.send(call, further, NOTHING_TO_SETTLE, reply);
    }
    return { settled: reply.settled, ...this.joined(call, reply.parts) };
  }

  private planOf({ workerId, lane, number }: LaneCall): Plan {
    let lanes = this.plans.get(workerId);
    if (!lanes) this.plans.set(workerId, (lanes = new Map()));
    const known = lanes.get(lane);
    if (known && number < known.number) throw new SupersededCallError(workerId, lane, number);
    if (known?.number === number) return known;
    const plan: Plan = { number, asks: [], endedClaims: new Map(), isComplete: false };
    lanes.set(lane, plan);
    this.turn = (this.turn + 1) % this.partitions.length;
    return plan;
  }

  /**
   * Chooses the partitions to ask next, shares `room` among them and enters that in the plan. One that was empty a
   * moment ago is not asked.
   */
  private nextWave({ asks }: Plan, room: number): Ask[] {
    if (room <= 0) return [];
    const now = performance.now();
    const possible: Omit<Ask, 'max'>[] = [];
    for (let i = 0; i < this.partitions.length; i++) {
      const partition = (this.turn + i) % this.partitions.length;
      const supply = this.supplies[partition];
      const round = asks.filter((ask) => ask.partition === partition).length;
      if (!supply || round === MOST_ROUNDS) continue;
      const mayHaveWork = supply.mayHaveWork || supply.dueAt <= now;
      const mayNoLongerBeEmpty = round === 0 && now >= supply.emptyAt + this.emptyForMs;
      if (mayHaveWork || mayNoLongerBeEmpty) possible.push({ partition, round });
    }
    const chosen = possible.slice(0, room);
    const share = Math.floor(room / chosen.length);
    const wave = chosen.map((ask, i) => ({ ...ask, max: share + (i < room % chosen.length ? 1 : 0) }));
    asks.push(...wave);
    return wave;
  }

  /** @throws what the first partition that failed threw; the whole call is then to be repeated. */
  private async send(
    call: LaneCall,
    wave: readonly Ask[],
    settlements: Settlements,
    reply: Reply,
  ): Promise<void> {
    const asked = new Set(wave.filter(({ round }) => round === 0).map(({ partition }) => partition));
    const settledOnly = [...settlements.keys()].filter((partition) => !asked.has(partition));
    const results = await Promise.allSettled([
      ...settledOnly.map((partition) =>
        this.sendTo({ partition, round: 0, max: 0 }, call, settlements, reply),
      ),
      ...wave.map((ask) => this.sendTo(ask, call, settlements, reply)),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  private async sendTo(
    { partition, round, max }: Ask,
    call: LaneCall,
    settlements: Settlements,
    reply: Reply,
  ): Promise<void> {
    const store = this.partitions[partition];
    const supply = this.supplies[partition];
    if (!store || !supply) return;
    const part = round === 0 ? settlements.get(partition) : undefined;
    const sentAt = performance.now();
    const lane = call.lane + round * LANES_PER_ROUND;
    const endedClaims = part ? this.endedAt(call, partition) : [];
    const answer = await store.exchange({
      ...call,
      lane,
      settlements: part?.items ?? [],
      endedClaims,
      claimMax: max,
    });
    this.records.noteTold(partition, endedClaims);
    part?.places.forEach((place, i) => {
      const settled = answer.settled[i];
      if (settled) reply.settled[place] = settled;
    });
    if (max === 0) return;
    supply.emptyAt = sentAt;
    // A wake-up that came while this was on its way knows better.
    supply.mayHaveWork = answer.more || supply.wokenAt >= sentAt;
    supply.dueAt = performance.now() + (answer.nextDueInMs ?? Infinity);
    for (const { jobId } of answer.claimed) this.map.noteClaimed(jobId, partition);
    const { workerId, number } = call;
    if (answer.claimed.length > 0) {
      this.records.noteClaimed(workerId, `${call.lane}:${number}`, partition, `${lane}:${number}`);
    }
    reply.parts.push(answer);
    reply.taken += answer.claimed.length;
  }

  private endedAt(call: LaneCall, partition: number): readonly string[] {
    const { endedClaims } = this.planOf(call);
    const known = endedClaims.get(partition) ?? this.records.endedAt(partition);
    endedClaims.set(partition, known);
    return known;
  }

  private joined({ claimMax }: LaneCall, parts: readonly LaneReply[]): Omit<LaneReply, 'settled'> {
    const times = parts.flatMap(({ now }) => (now === undefined ? [] : [now]));
    const nextDueInMs = Math.min(...this.supplies.map(({ dueAt }) => dueAt)) - performance.now();
    return {
      claimed: parts.flatMap(({ claimed }) => claimed),
      blocked: parts.flatMap(({ blocked }) => blocked),
      replayed: parts.flatMap(({ replayed }) => replayed),
      more: claimMax > 0 && this.supplies.some(({ mayHaveWork }) => mayHaveWork),
      nextDueInMs: claimMax > 0 && nextDueInMs < Infinity ? Math.max(0, nextDueInMs) : undefined,
      now: times.length > 0 ? Math.max(...times) : undefined,
    };
  }
}
