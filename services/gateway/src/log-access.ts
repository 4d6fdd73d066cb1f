import type { IncomingMessage } from 'node:http';
import type { Logger } from '@rms/service';
import type { Response } from 'express';

/** One line a request, when it is over: never the key, the query or a body. */
export function logAccess(request: IncomingMessage, response: Response, log: Logger): void {
  if (!log.isLevelEnabled('info')) return;
  const startedAtMs = performance.now();
  const path = request.url?.split('?', 1)[0];
  response.once('close', () => {
    log.info(
      {
        request_id: response.locals.requestId,
        method: request.method,
        path,
        status: response.writableFinished ? response.statusCode : 499,
        duration_ms: Math.round((performance.now() - startedAtMs) * 10) / 10,
        key_id: response.locals.keyId,
      },
      'request',
    );
  });
}
