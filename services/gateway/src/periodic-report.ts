/** Collects something and reports it at an interval, one report at a time. */
export abstract class PeriodicReport {
  readonly #everyMs: number;
  #reporting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** Reports everything collected. Must not reject, and must keep the contents of a later report. */
  protected abstract report(): Promise<void>;

  start(): void {
    this.#timer = setInterval(() => void this.flush(), this.#everyMs).unref();
  }

  /** Waits for the report in flight, then reports the rest. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
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
