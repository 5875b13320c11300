/** Processes, sockets and timers: nobody dies unasked, and who is asked to end, ends by himself. */
import type { Check } from '../evidence.js';
import { entriesOf } from '../runs.js';

const EXIT_MS = 7_000;

export const nothingLeaks: Check = {
  name: 'no timer, socket or process is left',
  promise:
    'At rest a process has only the connections it needs; it lives until SIGTERM and then ends by itself, in time and silently.',
  needsEveryWrite: false,
  find: (evidence) => [
    ...entriesOf(evidence, 'connections')
      .filter(({ open, needed }) => open > needed)
      .map(({ target, open, needed }) => `${target} has ${open} connections and needs ${needed}`),
    ...entriesOf(evidence, 'died').map(
      ({ target, code, output }) => `${target} died with ${code}: ${output}`,
    ),
    ...entriesOf(evidence, 'exited')
      .filter(({ code, tookMs }) => code !== 0 || tookMs > EXIT_MS)
      .map(({ target, code, tookMs }) => `${target} ended with ${code} after ${Math.round(tookMs)} ms`),
    ...evidence.complaints.map((text) => `somebody complained: ${text}`),
    ...(evidence.openConnections > 0 ? [`${evidence.openConnections} connections are still open`] : []),
  ],
};
