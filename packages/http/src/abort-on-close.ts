import type { ServerResponse } from 'node:http';

/** Aborts if the client goes away before it has its answer. */
export function abortOnClose(response: ServerResponse): AbortSignal {
  const abort = new AbortController();
  if (response.destroyed) abort.abort();
  response.once('close', () => {
    if (!response.writableFinished) abort.abort();
  });
  return abort.signal;
}
