/** Tracks whether PostgreSQL recently rejected writes because its disk was full. */
export interface DiskSpaceWatch {
  /** Records a committed write. */
  wrote(): void;
  /** Records a failed write. */
  failed(error: unknown): void;
  /** Throws the last disk-full error if it is recent and no write has been committed since. */
  check(): void;
}

/** Only a write can show that there is space again. After this time check() passes, so that writes are attempted. */
const rememberMs = 5_000;

/** Creates a watch for the readiness probe: while a disk is full, sessions still open and reads still succeed. */
export function createDiskSpaceWatch(now: () => number = () => performance.now()): DiskSpaceWatch {
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
