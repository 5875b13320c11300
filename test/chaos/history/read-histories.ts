/** All entries of a chaos run, by time. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HistoryEntry } from './entry.js';

export function readHistories(folder: string): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.jsonl')) continue;
    const lines = readFileSync(join(folder, name), 'utf8').split('\n');
    // The last line is empty, or was cut short by the death of its process: then it records nothing.
    lines.pop();
    for (const line of lines) entries.push(JSON.parse(line) as HistoryEntry);
  }
  return entries.toSorted((a, b) => a.at - b.at);
}
