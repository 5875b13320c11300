/** Which records of claims each partition may forget: the parts of a claim that has ended, told with the next outcomes. */
export class PartitionRecords {
  /** By worker and claim: in which partitions it has a part, and under which name. */
  private readonly parts = new Map<string, { readonly partition: number; readonly name: string }[]>();
  private readonly ended: readonly Set<string>[];

  constructor(partitions: number) {
    this.ended = Array.from({ length: partitions }, () => new Set<string>());
  }

  noteClaimed(workerId: string, claim: string, partition: number, name: string): void {
    const key = `${workerId} ${claim}`;
    const parts = this.parts.get(key);
    if (parts) parts.push({ partition, name });
    else this.parts.set(key, [{ partition, name }]);
  }

  noteEnded(workerId: string, claims: readonly string[]): void {
    for (const claim of claims) {
      const key = `${workerId} ${claim}`;
      for (const { partition, name } of this.parts.get(key) ?? []) this.ended[partition]?.add(name);
      this.parts.delete(key);
    }
  }

  /** What a partition has not been told yet. */
  endedAt(partition: number): string[] {
    return [...(this.ended[partition] ?? [])];
  }

  noteTold(partition: number, names: readonly string[]): void {
    for (const name of names) this.ended[partition]?.delete(name);
  }
}
