/** What every service factory returns, and what main.ts and standalone start and stop. */
export interface Service {
  readonly name: string;
  /** Resolves once the service serves. */
  start(): Promise<void>;
  /** Stops taking work, finishes what is under way, lets go of everything. Resolves when done; safe to call twice. */
  stop(): Promise<void>;
  /** Resolves with the reason if the service cannot go on; the process then stops it and ends. */
  readonly failed?: Promise<Error>;
}
