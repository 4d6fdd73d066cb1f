/**
 * Sets the clock of this process: `Date` reads `byMs` more than the real time, as if the machine's clock had been
 * set. Timers and performance.now() do not change. Returns a function that restores the clock.
 */
export function shiftClock(byMs: number): () => void {
  const RealDate = globalThis.Date;
  class ShiftedDate extends RealDate {
    constructor(...args: ConstructorParameters<typeof RealDate> | []) {
      if (args.length === 0) super(RealDate.now() + byMs);
      else super(...args);
    }

    static override now(): number {
      return RealDate.now() + byMs;
    }
  }
  globalThis.Date = ShiftedDate as DateConstructor;
  return () => {
    globalThis.Date = RealDate;
  };
}
