import { type CallScope, currentCall } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { Pool, PoolClient } from './queryable.ts';

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
 * `waitMs`; at most {@link maxWaiting} wait. Calls that cannot wait are rejected with `service_unavailable`. Calls for
 * several workspaces, and work outside of calls, are not limited.
 *
 * Code that has a connection must not wait for another one of the same pool.
 */
export function shareConnections(pool: Pool, { max, waitMs }: { max: number; waitMs: number }): void {
  const most = Math.ceil(max / 2);
  const shares = new Map<string, Share>();

  const take = async (owner: string, call: CallScope): Promise<void> => {
    const share = shares.get(owner) ?? { used: 0, waiting: new Set() };
    shares.set(owner, share);
    if (share.used < most) share.used += 1;
    else if (share.waiting.size < maxWaiting) await untilFree(share, call, waitMs);
    else throw unavailable(`${maxWaiting} calls for the workspace are already waiting for a database connection`);
  };
  const leave = (owner: string): void => {
    const share = shares.get(owner);
    if (!share) return;
    const [next] = share.waiting;
    if (next) next();
    else if (share.used > 1) share.used -= 1;
    else shares.delete(owner);
  };

  const connectable = pool as unknown as { connect: (...given: unknown[]) => Promise<PoolClient> };
  const connect = connectable.connect.bind(pool);
  connectable.connect = async (...given) => {
    const call = currentCall();
    // pool.query of pg connects with a callback.
    if (!call?.owner || given.length > 0) return connect(...given);
    const { owner } = call;
    await take(owner, call);
    try {
      const client = await connect();
      const { release } = client;
      client.release = (...args) => {
        client.release = release;
        leave(owner);
        release.apply(client, args);
      };
      return client;
    } catch (error) {
      leave(owner);
      throw error;
    }
  };
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
