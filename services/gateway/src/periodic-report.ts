/** Collects something and reports it at an interval, one report at a time. Idle until something is collected. */
export abstract class PeriodicReport {
  readonly #everyMs: number;
  #started = false;
  #reporting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** Reports everything collected. Must not reject, and must keep the contents of a later report. */
  protected abstract report(): Promise<void>;

  /** Call it when something has been collected, or kept for a later report. It is reported within the interval. */
  protected collected(): void {
    if (!this.#started || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // The report in flight does not contain everything.
      if (this.#reporting) this.collected();
      else void this.flush();
    }, this.#everyMs).unref();
  }

  start(): void {
    this.#started = true;
    this.collected();
  }

  /** Waits for the report in flight, then reports the rest. */
  async stop(): Promise<void> {
    this.#started = false;
    clearTimeout(this.#timer);
    await this.#reporting;
    await this.flush();
  }

  /** Reports immediately, or waits for the report in flight. */
  async flush(): Promise<void> {
    this.#reporting ??= this.report().finally(() => {
      this.#reporting = undefined;
    });
    await this.#reporting;
  }
}
