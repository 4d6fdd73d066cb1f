import { currentCall, FairQueue, FairShare } from '@rms/async';
import { networkOf } from '@rms/base/cidr';
import { RmsError } from '@rms/base/errors';
import { type Argon2idCost, hashArgon2id, phcPrefix, unmatchedArgon2id, verifyArgon2id } from './argon2id.ts';

/**
 * Hashes and verifies passwords off the event loop, with bounded concurrency. Client networks are served round-robin,
 * so that a network with many requests does not keep out the users of others.
 */
export interface PasswordHasher {
  /**
   * Returns an Argon2id hash as a PHC string. Throws `service_unavailable` if the queue is full.
   * @param clientAddress empty: unknown
   */
  hash(password: string, clientAddress: string): Promise<string>;
  /**
   * Returns whether the password matches the hash. Without a hash it does the same work and returns false, so the time
   * does not reveal whether an account exists or has a password. Throws `service_unavailable` if the queue is full.
   */
  verify(passwordHash: string | undefined, password: string, clientAddress: string): Promise<boolean>;
  /** Returns whether a hash was made with cost parameters other than the current ones. */
  isOutdated(passwordHash: string): boolean;
}

/** Argon2id above the minimum that OWASP recommends: 32 MiB and about 80 ms on one CPU. */
const defaultCost: Argon2idCost = { memoryKib: 32_768, passes: 3, parallelism: 1 };
/** Concurrent hashes: two of the four threads in Node's pool, and 64 MiB. */
const permits = 2;
/** Queued tasks of a client network. If no other network has tasks, they take about four seconds. */
const maxPerNetwork = 100;
/** Queued tasks of all networks. Bounds memory. */
const maxQueueLength = 10_000;

/** Creates a hasher. All handlers of a process share one. Only tests set another cost. */
export function createPasswordHasher(cost = defaultCost): PasswordHasher {
  const currentForm = phcPrefix(cost);
  const withPermit = createSemaphore();
  const unmatched = unmatchedArgon2id(cost);
  return {
    hash: (password, clientAddress) => withPermit(clientAddress, () => hashArgon2id(normalized(password), cost)),
    verify: (passwordHash, password, clientAddress) =>
      withPermit(clientAddress, async () => {
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

/**
 * Runs at most {@link permits} tasks concurrently and queues further ones, round-robin over the networks of clients. A
 * task with a call that ends while it is queued does not run.
 */
function createSemaphore() {
  const queue = new FairQueue<() => void>();
  const queued = new FairShare({ total: maxQueueLength, perTenant: maxPerNetwork });
  let running = 0;

  return async <T>(clientAddress: string, work: () => Promise<T>): Promise<T> => {
    if (running < permits) running += 1;
    else {
      const network = networkOf(clientAddress);
      // A finished task passes its slot to the next one in the queue.
      if (!queued.take(network)) throw new RmsError('service_unavailable', { retryAfterSeconds: 1 });
      await new Promise<void>((resolve) => queue.push(network, resolve));
      queued.release(network);
    }
    try {
      currentCall()?.check();
      return await work();
    } finally {
      const next = queue.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
