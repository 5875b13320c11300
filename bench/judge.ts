/** Compares a figure with the peers and with its bar. */
import { PEERS, type ContenderName, type Peer } from './contenders/contender.js';
import type { Bar, Figure } from './figures.js';
import type { Results, Spread } from './results.js';

export interface Verdict {
  readonly figure: Figure;
  readonly own: Spread;
  readonly peers: Readonly<Record<Peer, Spread | undefined>>;
  /** How many times better than the peer the medians are, whichever direction is better. Below 1 the peer wins. */
  readonly times: Readonly<Record<Peer, number | undefined>>;
  /** `undefined`: there is no bar, or nothing to compare with. */
  readonly met: boolean | undefined;
}

/** `undefined` when the figure was not measured. */
export function judge(figure: Figure, results: Results): Verdict | undefined {
  const spreadOf = (contender: ContenderName): Spread | undefined =>
    results.spread(figure.scenario, contender, figure.metric);
  const own = spreadOf('fenceline') ?? spreadOf('fenceline-memory');
  if (!own) return undefined;
  const peers = byPeer(spreadOf);
  const times = byPeer((peer) => {
    const theirs = peers[peer]?.median;
    if (theirs === undefined) return undefined;
    return figure.better === 'higher' ? own.median / theirs : theirs / own.median;
  });
  return { figure, own, peers, times, met: isMet(figure.bars, own.median, times) };
}

function isMet(bars: readonly Bar[], own: number, times: Verdict['times']): boolean | undefined {
  const each = bars.map((bar) => {
    if ('atLeast' in bar) return own >= bar.atLeast;
    if ('atMost' in bar) return own <= bar.atMost;
    const reached = times[bar.against];
    return reached === undefined ? undefined : reached >= bar.times;
  });
  if (each.includes(false)) return false;
  return each.length === 0 || each.includes(undefined) ? undefined : true;
}

function byPeer<T>(valueOf: (peer: Peer) => T): Record<Peer, T> {
  return Object.fromEntries(PEERS.map((peer) => [peer, valueOf(peer)])) as Record<Peer, T>;
}
