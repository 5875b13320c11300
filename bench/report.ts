/** Turns results into the tables people read (Markdown) and the file programs read. */
import { FIGURES, type Bar, type Figure } from './figures.js';
import { growthRows } from './growth-rows.js';
import { judge, type Verdict } from './judge.js';
import type { Machine } from './machine.js';
import type { Results, Spread } from './results.js';
import type { Scale, Sizes } from './sizes.js';

const PEER_NAMES = { bullmq: 'BullMQ', 'bee-queue': 'Bee' } as const;
const NONE = '–';

export interface ReportInput {
  readonly results: Results;
  readonly machine: Machine;
  readonly scale: Scale;
  readonly sizes: Sizes;
  readonly rounds: number;
  readonly seconds: number;
}

export function toMarkdown(input: ReportInput): string {
  const { results, machine, scale, sizes, rounds, seconds } = input;
  const verdicts = verdictsOf(results);
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${machine.date.slice(0, 10)}, ${machine.cpu} × ${machine.cores}, ${machine.system}; ${versions.join(', ')}.`,
    `Scale ${scale}, ${rounds} rounds, ${seconds} s. Median (min–max); “×” is how many times better than the peer.`,
    ...(scale === 'full'
      ? []
      : [`These counts are too small for publishing: run it without --quick and --scale.`]),
    ...(verdicts.length > 0 ? ['', mainTable(verdicts, sizes)] : []),
    ...growthTable(input),
    ...failures(results),
  ].join('\n');
}

export function toJson({ results, ...rest }: ReportInput): string {
  const figures = verdictsOf(results).map(({ figure, ...verdict }) => ({ ...figure, ...verdict }));
  return `${JSON.stringify({ ...rest, figures, runs: results.runs, failed: results.failed }, null, 2)}\n`;
}

function verdictsOf(results: Results): Verdict[] {
  return FIGURES.map((figure) => judge(figure, results)).filter((verdict) => verdict !== undefined);
}

function mainTable(verdicts: readonly Verdict[], sizes: Sizes): string {
  const rows = verdicts.map(({ figure, own, peers, times, met }) => [
    `${fillIn(figure.title, sizes)}${figure.unit === 'ratio' ? '' : `, ${figure.unit === 'a second' ? '/s' : figure.unit}`}`,
    withRange(figure, own),
    withRange(figure, peers.bullmq),
    withRange(figure, peers['bee-queue']),
    toTimes(times.bullmq),
    toTimes(times['bee-queue']),
    figure.bars.map((bar) => toText(bar, figure)).join(', ') || NONE,
    met === undefined ? NONE : met ? 'yes' : '**no**',
  ]);
  return table(['figure', 'Fenceline', 'BullMQ', 'Bee-Queue', '× BullMQ', '× Bee', 'bar', 'met'], rows);
}

function growthTable({ results, sizes }: ReportInput): string[] {
  const rows = growthRows(results, sizes);
  if (rows.length === 0) return [];
  const columns = [
    'jobs a second',
    'Redis µs a job',
    'bytes a queued job',
    'commands sent /s',
    'commands /s',
  ];
  const cells = rows.map(({ title, values }) => [
    title,
    ...values.map((value) => (value === undefined ? NONE : toNumber(value, value < 100 ? 1 : 0))),
  ]);
  return ['', table(['what grows', ...columns], cells)];
}

function failures({ failed }: Results): string[] {
  if (failed.length === 0) return [];
  const lines = failed.map(
    ({ scenario, contender, round, reason }) =>
      `- ${scenario}, ${contender}, round ${round}: ${reason.replaceAll('\n', '\n  ')}`,
  );
  return ['', `${failed.length} runs failed and do not count:`, ...lines];
}

function fillIn(title: string, sizes: Sizes): string {
  return Object.entries(sizes).reduce(
    (text, [name, size]) => text.replace(`{${name}}`, toNumber(size)),
    title,
  );
}

function withRange(figure: Figure, spread: Spread | undefined): string {
  if (!spread) return NONE;
  const number = (value: number): string => toNumber(value, digitsOf(figure, value));
  if (spread.runs === 1) return number(spread.median);
  return `${number(spread.median)} (${number(spread.min)}–${number(spread.max)})`;
}

function digitsOf({ unit }: Figure, value: number): number {
  if (unit === 'ms' || unit === 'ratio') return 2;
  return value < 100 ? 1 : 0;
}

function toTimes(times: number | undefined): string {
  // Not a number: one of the two was 0.
  return times === undefined || !Number.isFinite(times) ? NONE : toNumber(times, 2);
}

function toText(bar: Bar, figure: Figure): string {
  if ('atLeast' in bar) return `≥ ${toNumber(bar.atLeast)}`;
  if ('atMost' in bar) return `≤ ${toNumber(bar.atMost)}`;
  const sign = figure.better === 'higher' ? '≥' : '≤';
  return bar.times === 1
    ? `${sign} ${PEER_NAMES[bar.against]}`
    : `${sign} ${bar.times} × ${PEER_NAMES[bar.against]}`;
}

function toNumber(value: number, digits?: number): string {
  return value.toLocaleString(
    'en-US',
    digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits },
  );
}

/** Padded, so that it can be read in a terminal and is what Prettier would make of it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
