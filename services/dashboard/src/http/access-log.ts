import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { PageResponse } from './locals.ts';

/** Logs one line per API request, when its response has been sent or the client has disconnected. */
export function logAccess(request: Request, response: PageResponse, log: Logger): void {
  if (!log.isLevelEnabled('info') || !request.url.startsWith('/api/')) return;
  response.once('close', () => {
    const { requestId, userId, portalSessionId, startedAtMs } = response.locals;
    log.info(
      {
        request_id: requestId,
        method: request.method,
        // The route pattern instead of the path, because unknown paths can contain anything.
        route: request.route?.path,
        status: response.statusCode,
        duration_ms: Math.round((performance.now() - startedAtMs) * 100) / 100,
        user_id: userId,
        portal_session_id: portalSessionId,
        ...(response.writableFinished ? {} : { aborted: true }),
      },
      'request',
    );
  });
}
