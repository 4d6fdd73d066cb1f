/** Result of every service factory; main.ts and standalone start and stop it. */
export interface Service {
  readonly name: string;
  /** Resolves once the service accepts calls. */
  start(): Promise<void>;
  /** Stops accepting work, finishes work in progress and releases all resources. Resolves when done. Idempotent. */
  stop(): Promise<void>;
  /** Resolves with the reason if the service fails permanently; the process then stops it and exits. */
  readonly failed?: Promise<Error>;
}
