import type { ServerResponse } from 'node:http';

export const eventStreamType = 'text/event-stream';

/** What a browser reads as server-sent events. */
export interface EventStream {
  /**
   * Sends an event. Who does not read fast enough gets none until they have read, and then one 'missed' with the id of the
   * last one: nothing gathers here.
   */
  send(event: { readonly name: string; readonly id: string; readonly data: string }): void;
  /** Keeps what is in between from taking the silence for an end. */
  beat(): void;
  end(name: string): void;
}

/** How long browsers wait before they connect again. */
const retryMs = 2_000;

/** Answers with a stream. */
export function openEventStream(response: ServerResponse): EventStream {
  let unread = false;
  let missedTo: string | undefined;
  response.writeHead(200, {
    'Content-Type': eventStreamType,
    // Proxies of nginx's kind hold answers back unless they are told.
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

/** Data is JSON or nothing, and so one line. */
function textOf(name: string, id: string, data: string): string {
  return `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`;
}
