import { connect } from 'node:net';
import type pg from 'pg';
import { addressOf } from './dialing-client.ts';

/** Members of pg's client that its types do not declare. */
interface Backend {
  readonly processID: number | null;
  readonly secretKey: number | null;
}

const cancelTimeoutMs = 3_000;
/** Code of a CancelRequest in PostgreSQL's protocol. */
const cancelRequest = 80_877_102;

/**
 * Asks the server to cancel the statement of a session, and closes the session after the response, so that a late
 * cancellation cannot meet another statement.
 */
export function cancelStatement(client: pg.Client): void {
  const { processID, secretKey } = client as unknown as Backend;
  const { host, port } = client;
  // Another address of the host may be another server.
  const address = addressOf(client);
  void client.end();
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
