/** First in, first out. `Array.shift` would move everything that waits behind. */

const COMPACTED_FROM = 64;

export class Fifo<T> {
  private items: T[] = [];
  private head = 0;

  push(item: T): void {
    this.items.push(item);
  }

  shift(): T | undefined {
    const item = this.items[this.head];
    if (this.head < this.items.length) this.head += 1;
    if (this.head >= COMPACTED_FROM && this.head * 2 >= this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return item;
  }
}
