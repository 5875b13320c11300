/** Preloaded with `--import`: makes the wall clock of the process wrong by CLOCK_SHIFT_MS. */
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
const RealDate = Date;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length > 0 ? args : [RealDate.now() + shiftMs], newTarget) as object,
  apply: () => new RealDate(RealDate.now() + shiftMs).toString(),
  get: (target, property, receiver) =>
    property === 'now' ? () => RealDate.now() + shiftMs : Reflect.get(target, property, receiver),
});
