import { connect } from 'node:net';
import { type CallScope, currentCall } from '@rms/async';
import type pg from 'pg';
import { addressOf } from './dialing-client.ts';
import type { Pool, PoolClient } from './queryable.ts';

type Query = (...given: unknown[]) => Promise<unknown>;

/** Members of pg's client that its types do not declare. */
interface Backend {
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/** Sessions with canceled statements. */
const canceled = new WeakSet<object>();
const cancelTimeoutMs = 3_000;
/** Code of a CancelRequest in PostgreSQL's protocol. */
const cancelRequest = 80_877_102;
/** Statements that an ended call still sends: they only end its transaction. */
const ending = /^\s*rollback\b/i;
/** A canceled commit may have taken effect, without waiting for the standby that must confirm it. */
const committing = /^\s*commit\b/i;

/**
 * Ends the statements of an RPC when it ends before its response: its caller has canceled it or its deadline has
 * passed, and no caller waits for the result. A statement in flight is canceled by the server, later statements are not
 * sent, and the session is closed, so that a late cancellation cannot meet a statement of another call.
 *
 * A call that does not end early costs no message.
 */
export function endWithCall(pool: Pool): void {
  const queryable = pool as unknown as { query: Query };
  const queryPool = queryable.query.bind(pool);
  // pool.query sends a queued statement in the call context that released the connection.
  queryable.query = async (...given) => {
    const call = currentCall();
    if (!call || typeof given.at(-1) === 'function') return queryPool(...given);
    call.check();
    const client = await pool.connect();
    let failure: unknown;
    try {
      return await (client as unknown as { query: Query }).query(...given);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.release(failure !== undefined);
    }
  };
  pool.on('connect', (client) => {
    const session = client as unknown as { query: Query };
    const query = session.query.bind(client);
    session.query = (...given) => {
      const call = currentCall();
      const text = typeof given[0] === 'string' ? given[0] : ((given[0] as { text?: string } | undefined)?.text ?? '');
      if (!call || typeof given.at(-1) === 'function' || ending.test(text)) return query(...given);
      return inOpenCall(call, client, committing.test(text), () => query(...given));
    };
  });
}

async function inOpenCall<T>(
  call: CallScope,
  client: pg.ClientBase,
  isCommit: boolean,
  run: () => Promise<T>,
): Promise<T> {
  call.check();
  if (isCommit) return run();
  const leave = call.onEnd(() => cancel(client as PoolClient));
  try {
    return await run();
  } finally {
    leave();
  }
}

/** Asks the server to cancel a session's statement, and closes the session after the response. */
function cancel(client: PoolClient): void {
  if (canceled.has(client)) return;
  canceled.add(client);
  const { processID, secretKey } = client as unknown as Backend;
  const { host, port } = client as unknown as pg.Client;
  // Another address of the host may be another server.
  const address = addressOf(client);
  void (client as unknown as pg.Client).end();
  if (processID === null || secretKey === null) return;
  const isLocal = host.startsWith('/');
  if (!isLocal && address === undefined) return;
  const socket = isLocal ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, address);
  const message = Buffer.alloc(16);
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(cancelRequest, 4);
  message.writeInt32BE(processID, 8);
  message.writeInt32BE(secretKey, 12);
  // Without a connection, statement_timeout ends the statement.
  socket.on('error', () => {});
  socket.setTimeout(cancelTimeoutMs, () => socket.destroy());
  socket.end(message);
  socket.resume();
}
