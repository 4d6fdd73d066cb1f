/** Whether PostgreSQL has had no room for what was written lately. */
export interface RoomWatch {
  /** A write was committed. */
  wrote(): void;
  /** A write has failed. */
  failed(error: unknown): void;
  /** Throws if there was no room a moment ago and no write has been committed since. */
  check(): void;
}

/** Whether there is room again shows only when something is written: after so long it may be tried. */
const rememberMs = 5_000;

/** For readiness: while a disk is full, sessions open and reads go on as if nothing was wrong. */
export function createRoomWatch(now: () => number = () => performance.now()): RoomWatch {
  let lastFailure: { error: unknown; atMs: number } | undefined;
  return {
    wrote() {
      lastFailure = undefined;
    },
    failed(error) {
      // disk_full
      if ((error as { code?: string } | undefined)?.code === '53100') lastFailure = { error, atMs: now() };
    },
    check() {
      if (lastFailure && now() - lastFailure.atMs < rememberMs) throw lastFailure.error;
    },
  };
}
