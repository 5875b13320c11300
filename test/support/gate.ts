/** Something to wait for that a test decides about. */
export class Gate {
  private readonly opened: Promise<void>;
  private resolve: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => (this.resolve = resolve));
  }

  open(): void {
    this.resolve();
  }

  /** Resolves once it is open; at once ever after. */
  passed(): Promise<void> {
    return this.opened;
  }
}
