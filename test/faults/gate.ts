import type { ServerResponse } from 'node:http';
import { type ReceivedRequest, type Receiver, waitUntil } from '@rms/testkit';

/** Answers of a receiver that can be held back. */
export interface Gate {
  /** From now on requests get no answer. */
  close(): void;
  /** Waits until so many requests wait for an answer. */
  waitForHeld(count: number): Promise<void>;
  /** From now on requests are answered; those that wait go on waiting. */
  openForNew(): void;
  /** Answers those that wait, each with what is given for it, and from now on at once. */
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
      await waitUntil(() => held.length >= count, { what: `${count} requests to wait`, timeoutMs: 45_000 });
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
