/** Runs the redis-cli sessions of the documents and shows replies the way redis-cli shows them on a terminal. */
import type { Redis } from 'ioredis';

export interface Command {
  readonly line: string;
  /** What the document shows below it. */
  readonly output: string;
}

export function parseSession(block: string): Command[] {
  return block
    .split(/^\$ /m)
    .filter(Boolean)
    .map((text) => {
      const end = text.indexOf('\n');
      return { line: text.slice(0, end), output: text.slice(end + 1).trimEnd() };
    });
}

/** `replace` puts the names of the test in the place of those in the document. */
export async function execute(
  client: Redis,
  line: string,
  replace: (text: string) => string,
): Promise<string> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  const [program, ...rest] = words.map(replace);
  if (program !== 'redis-cli') throw new Error(`not a redis-cli command: ${line}`);
  const raw = rest[0] === '--raw';
  const [command = '', ...args] = raw ? rest.slice(1) : rest;
  const reply = await client.call(command, ...args);
  // ioredis speaks RESP3, in which members and scores come in pairs; redis-cli does not unless it is asked to.
  return show(Array.isArray(reply) ? reply.flat() : reply, raw);
}

function show(reply: unknown, raw: boolean): string {
  if (Array.isArray(reply)) {
    if (reply.length === 0) return raw ? '' : '(empty array)';
    const width = String(reply.length).length;
    const number = (i: number): string => (raw ? '' : `${String(i + 1).padStart(width)}) `);
    return reply.map((item: unknown, i) => `${number(i)}${show(item, raw)}`).join('\n');
  }
  if (typeof reply === 'number') return raw ? String(reply) : `(integer) ${reply}`;
  if (typeof reply !== 'string') return raw ? '' : '(nil)';
  return raw ? reply : `"${reply.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** Hides what differs from run to run: times, tokens, the numbers of calls, worker ids. */
export function mask(text: string): string {
  return text
    .replace(/"\d:\d+"/g, '"<lane>:<call>"')
    .replace(/\b\d{16}\b/g, '<token>')
    .replace(/\b\d{13}\b/g, '<time>')
    .replace(/[\w.-]+-\d+-[0-9a-f]{8}\b/g, '<worker>');
}
