import { createHmac } from 'node:crypto';
import type { Socket } from 'node:net';
import { answer } from './answer.ts';
import type { Behaviour, ReceiverPlan, ReceiverRecord } from './behaviour.ts';
import { type RequestHead, readRequests } from './request-reader.ts';

/** What all connections share. */
export interface Shared {
  plan(): ReceiverPlan;
  write(record: ReceiverRecord): void;
}

const healthy: Behaviour = { kind: 'answer' };
let connections = 0;
let requests = 0;

/** Serves the requests of a connection, each as its path's behaviour says. */
export function serve(socket: Socket, { plan, write }: Shared): void {
  connections += 1;
  const connection = connections;
  let closesOnReuse = false;
  const behaviourOf = (path: string): Behaviour => plan().behaviours[path] ?? healthy;

  const record = ({ path, headers }: RequestHead, body?: Buffer) => {
    requests += 1;
    const request = requests;
    const eventId = headers['webhook-id'] ?? '';
    const secret = plan().secrets[path];
    const verified = secret && body ? headers['x-service-signature'] === signature(secret, body) : undefined;
    write({ kind: 'read', request, connection, path, eventId, verified, atMs: Date.now() });
    return { socket, eventId, answered: () => write({ kind: 'answered', request, eventId }) };
  };
  readRequests(socket, {
    onFirstByte() {
      if (closesOnReuse) socket.resetAndDestroy();
      return !closesOnReuse;
    },
    onHead(head) {
      const behaviour = behaviourOf(head.path);
      if (behaviour.kind !== 'answer early') return true;
      answer(behaviour, record(head));
      return false;
    },
    onRequest(head, body) {
      const behaviour = behaviourOf(head.path);
      closesOnReuse = behaviour.kind === 'close on reuse';
      answer(behaviour, record(head, body));
    },
  });
}

function signature(secret: string, body: Buffer): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
