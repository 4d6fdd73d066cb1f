import type { ServerResponse } from 'node:http';

export const eventStreamType = 'text/event-stream';

/** Stream of server-sent events. */
export interface EventStream {
  /**
   * Sends an event. While the client reads too slowly, events are dropped instead of buffered. Once it has caught up,
   * it gets one `missed` event with the last dropped event's ID.
   */
  send(event: { readonly name: string; readonly id: string; readonly data: string }): void;
  /** Sends a comment, so that proxies do not close an idle connection. */
  beat(): void;
  end(name: string): void;
}

/** Delay before browsers reconnect. */
const retryMs = 2_000;

/** Starts a response with a stream. */
export function openEventStream(response: ServerResponse): EventStream {
  let unread = false;
  let missedTo: string | undefined;
  response.writeHead(200, {
    'Content-Type': eventStreamType,
    // Disables the response buffering of nginx and compatible proxies.
    'X-Accel-Buffering': 'no',
  });
  const write = (text: string) => {
    if (response.writableEnded || response.destroyed || response.write(text) || unread) return;
    unread = true;
    response.once('drain', () => {
      unread = false;
      if (missedTo === undefined) return;
      const id = missedTo;
      missedTo = undefined;
      write(textOf('missed', id, ''));
    });
  };
  write(`retry: ${retryMs}\n\n`);
  return {
    send({ name, id, data }) {
      if (unread) missedTo = id;
      else write(textOf(name, id, data));
    },
    beat() {
      if (!unread) write(':\n\n');
    },
    end(name) {
      if (!response.writableEnded) response.end(`event: ${name}\ndata: \n\n`);
    },
  };
}

/** Formats an event. `data` is JSON without line breaks, or empty. */
function textOf(name: string, id: string, data: string): string {
  return `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`;
}
