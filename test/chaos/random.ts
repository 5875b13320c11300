/** Random choices that a seed repeats. */

/** Mixes the bits of a counter (an integer hash with full avalanche), so that near seeds give unlike sequences. */
function hash(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return (bits ^ (bits >>> 15)) >>> 0;
}

export class Random {
  private counter: number;

  /** `stream` tells apart those who draw from the same seed. */
  constructor(seed: number, stream = '') {
    this.counter = seed >>> 0;
    for (const character of stream) this.counter = hash(this.counter ^ character.charCodeAt(0));
  }

  /** From 0, below 1. */
  next(): number {
    this.counter = (this.counter + 0x9e3779b9) >>> 0;
    return hash(this.counter) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.between(0, choices.length - 1)];
    if (choice === undefined) throw new Error('there is nothing to choose from');
    return choice;
  }
}
