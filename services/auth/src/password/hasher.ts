import { RmsError } from '@rms/errors';
import { type Argon2idCost, hashArgon2id, phcPrefix, unmatchedArgon2id, verifyArgon2id } from './argon2id.ts';

/** Hashes and verifies passwords off the event loop, with bounded concurrency. */
export interface PasswordHasher {
  /** Returns an Argon2id hash as a PHC string. Throws `service_unavailable` if the queue is full. */
  hash(password: string): Promise<string>;
  /**
   * Returns whether the password matches the hash. Without a hash it does the same work and returns false, so the time
   * does not reveal whether an account exists or has a password. Throws `service_unavailable` if the queue is full.
   */
  verify(passwordHash: string | undefined, password: string): Promise<boolean>;
  /** Returns whether a hash was made with cost parameters other than the current ones. */
  isOutdated(passwordHash: string): boolean;
}

/** Argon2id above the minimum that OWASP recommends: 32 MiB and about 80 ms on one CPU. */
const defaultCost: Argon2idCost = { memoryKib: 32_768, passes: 3, parallelism: 1 };
/** Concurrent hashes: two of the four threads in Node's pool, and 64 MiB. */
const permits = 2;
/** A full queue takes about four seconds. */
const maxQueueLength = 100;

/** Creates a hasher. All handlers of a process share one. Only tests set another cost. */
export function createPasswordHasher(cost = defaultCost): PasswordHasher {
  const currentForm = phcPrefix(cost);
  const withPermit = createSemaphore(permits, maxQueueLength);
  const unmatched = unmatchedArgon2id(cost);
  return {
    hash: (password) => withPermit(() => hashArgon2id(normalized(password), cost)),
    verify: (passwordHash, password) =>
      withPermit(async () => {
        const isRight = await verifyArgon2id(passwordHash ?? unmatched, normalized(password));
        return isRight && passwordHash !== undefined;
      }),
    isOutdated: (passwordHash) => !passwordHash.startsWith(currentForm),
  };
}

/**
 * Normalizes to NFKC, because keyboards encode the same visible character differently (NIST SP 800-63B, 5.1.1.2).
 * Truncates above the maximum length of a password.
 */
function normalized(password: string): string {
  return password.slice(0, 1_024).normalize('NFKC');
}

/** Runs at most `permits` tasks concurrently and queues at most `longest` more in FIFO order. Rejects the rest. */
function createSemaphore(permits: number, longest: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running < permits) running += 1;
    else if (waiting.length >= longest) throw new RmsError('service_unavailable', { retryAfterSeconds: 1 });
    // A finished task passes its slot to the next one in the queue.
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
