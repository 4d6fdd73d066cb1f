import { createHmac } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Behavior, ReceiverPlan, ReceiverRecord } from './behavior.ts';
import { type RequestHead, readRequests } from './request-reader.ts';
import { respond } from './respond.ts';

/** State shared by all connections. */
export interface Shared {
  plan(): ReceiverPlan;
  write(record: ReceiverRecord): void;
}

const healthy: Behavior = { kind: 'respond' };
let connections = 0;
let requests = 0;

/** Serves a connection's requests, each with the behavior of its path. */
export function serve(socket: Socket, { plan, write }: Shared): void {
  connections += 1;
  const connection = connections;
  let closesOnReuse = false;
  const behaviorOf = (path: string): Behavior => plan().behaviors[path] ?? healthy;

  const record = ({ path, headers }: RequestHead, body?: Buffer) => {
    requests += 1;
    const request = requests;
    const eventId = headers['webhook-id'] ?? '';
    const secret = plan().secrets[path];
    const verified = secret && body ? headers['x-service-signature'] === signature(secret, body) : undefined;
    write({ kind: 'read', request, connection, path, eventId, verified, atMs: Date.now() });
    return { socket, eventId, responded: () => write({ kind: 'responded', request, eventId }) };
  };
  readRequests(socket, {
    onFirstByte() {
      if (closesOnReuse) socket.resetAndDestroy();
      return !closesOnReuse;
    },
    onHead(head) {
      const behavior = behaviorOf(head.path);
      if (behavior.kind !== 'respond early') return true;
      respond(behavior, record(head));
      return false;
    },
    onRequest(head, body) {
      const behavior = behaviorOf(head.path);
      closesOnReuse = behavior.kind === 'close on reuse';
      respond(behavior, record(head, body));
    },
  });
}

function signature(secret: string, body: Buffer): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
