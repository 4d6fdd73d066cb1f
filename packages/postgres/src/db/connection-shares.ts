import type { CallScope } from '@rms/async';
import { RmsError } from '@rms/base/errors';

/** The connections of an owner. */
interface Share {
  used: number;
  /** Hand the connection over to a waiting call, in order. */
  readonly waiting: Set<() => void>;
}

const retryAfterSeconds = 1;
/** Waiting calls of a workspace; further ones are rejected. Bounds the memory that they take. */
const maxWaiting = 1_000;

/**
 * Limits the connections that the calls for one workspace (`CallScope.owner`) use at the same time to half of the pool,
 * so that the others remain for other workspaces and for workers. Further calls wait for their turn, for at most
 * `waitMs`; at most {@link maxWaiting} wait. Calls that cannot wait are rejected with `service_unavailable`.
 */
export class ConnectionShares {
  readonly #most: number;
  readonly #waitMs: number;
  readonly #shares = new Map<string, Share>();

  /** @param max number of connections of the pool */
  constructor(max: number, waitMs: number) {
    this.#most = Math.ceil(max / 2);
    this.#waitMs = waitMs;
  }

  /** Resolves when the call may use a connection. Rejects when the call ends, and after `waitMs`. */
  async take(owner: string, call: CallScope): Promise<void> {
    const share = this.#shares.get(owner) ?? { used: 0, waiting: new Set() };
    this.#shares.set(owner, share);
    if (share.used < this.#most) share.used += 1;
    else if (share.waiting.size < maxWaiting) await untilFree(share, call, this.#waitMs);
    else throw unavailable(`${maxWaiting} calls for the workspace are already waiting for a database connection`);
  }

  leave(owner: string): void {
    const share = this.#shares.get(owner);
    if (!share) return;
    const [next] = share.waiting;
    if (next) next();
    else if (share.used > 1) share.used -= 1;
    else this.#shares.delete(owner);
  }
}

/** Waits for one of the share's connections. Rejects when the call ends, and after `waitMs`. */
function untilFree({ waiting }: Share, call: CallScope, waitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      leaveCall();
      waiting.delete(next);
    };
    const next = () => {
      end();
      resolve();
    };
    const fail = (reason: unknown) => {
      end();
      reject(reason);
    };
    const timer = setTimeout(() => {
      fail(unavailable(`no database connection was free for the workspace within ${waitMs} ms`));
    }, waitMs);
    const leaveCall = call.onEnd(fail);
    waiting.add(next);
  });
}

function unavailable(reason: string): RmsError {
  return new RmsError('service_unavailable', { retryAfterSeconds, cause: new Error(reason) });
}
