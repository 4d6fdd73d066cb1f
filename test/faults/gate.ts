import type { ServerResponse } from 'node:http';
import { type ReceivedRequest, type Receiver, waitUntil } from '@rms/testkit';

/** Controls whether a receiver responds. */
export interface Gate {
  /** Holds all further requests without a response. */
  close(): void;
  /** Waits until at least this many requests are held. */
  waitForHeld(count: number): Promise<void>;
  /** Responds to new requests; held requests stay held. */
  openForNew(): void;
  /** Responds to held requests with `statusOf`, and to new requests immediately. */
  open(statusOf?: (request: ReceivedRequest, index: number) => number): void;
}

export function gateOf(receiver: Receiver): Gate {
  let closed = false;
  let held: { request: ReceivedRequest; response: ServerResponse }[] = [];
  receiver.respondWith((request, response) => {
    if (closed) held.push({ request, response });
    else response.end();
  });
  return {
    close() {
      closed = true;
    },
    openForNew() {
      closed = false;
    },
    waitForHeld: async (count) => {
      await waitUntil(() => held.length >= count, { what: `${count} held requests` });
    },
    open(statusOf = () => 200) {
      closed = false;
      for (const [index, { request, response }] of held.entries()) {
        response.writeHead(statusOf(request, index)).end();
      }
      held = [];
    },
  };
}
