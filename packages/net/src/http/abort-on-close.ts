import type { ServerResponse } from 'node:http';

/** Returns a signal that aborts if the client disconnects before the response is complete. */
export function abortOnClose(response: ServerResponse): AbortSignal {
  const abort = new AbortController();
  if (response.destroyed) abort.abort();
  response.once('close', () => {
    if (!response.writableFinished) abort.abort();
  });
  return abort.signal;
}
