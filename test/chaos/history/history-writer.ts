/** An append-only file of entries. What was recorded survives the death of its process. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { monotonicNow, type HistoryFact } from './entry.js';

const SYNC_INTERVAL_MS = 100;

export class HistoryWriter {
  private readonly file: number;
  private readonly timer: NodeJS.Timeout;
  private isDirty = false;

  constructor(
    folder: string,
    private readonly by: string,
  ) {
    this.file = openSync(join(folder, `${by}.jsonl`), 'a');
    this.timer = setInterval(() => this.sync(), SYNC_INTERVAL_MS).unref();
  }

  /** The line is with the kernel when this returns, so that a SIGKILL cannot take it back; the disk has it a little later. */
  record(fact: HistoryFact): void {
    writeSync(this.file, `${JSON.stringify({ at: monotonicNow(), by: this.by, ...fact })}\n`);
    this.isDirty = true;
  }

  close(): void {
    clearInterval(this.timer);
    this.sync();
    closeSync(this.file);
  }

  private sync(): void {
    if (!this.isDirty) return;
    this.isDirty = false;
    fsyncSync(this.file);
  }
}
