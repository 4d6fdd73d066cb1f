import type { Logger } from '@rms/service';
import type { Request } from 'express';
import type { PageResponse } from './locals.ts';

/** One line for each request of the pages' API, when its answer has been handed to the system or its client has gone. */
export function logAccess(request: Request, response: PageResponse, log: Logger): void {
  if (!log.isLevelEnabled('info') || !request.url.startsWith('/api/')) return;
  response.once('close', () => {
    const { requestId, userId, startedAtMs } = response.locals;
    log.info(
      {
        request_id: requestId,
        method: request.method,
        // The pattern, not the path: paths of those who guess may hold anything.
        route: request.route?.path,
        status: response.statusCode,
        duration_ms: Math.round((performance.now() - startedAtMs) * 100) / 100,
        user_id: userId,
        ...(response.writableFinished ? {} : { aborted: true }),
      },
      'request',
    );
  });
}
