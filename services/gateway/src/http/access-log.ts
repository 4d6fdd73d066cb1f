import { traceIdOf } from '@rms/async/tracing';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { ApiResponse } from './locals.ts';

/**
 * Logs one line per request, when the response has been passed to the operating system or the client has disconnected.
 */
export function logAccess(request: Request, response: ApiResponse, log: Logger): void {
  if (!log.isLevelEnabled('info')) return;
  response.once('close', () => {
    const { requestId, trace, keyId, startedAtMs } = response.locals;
    log.info(
      {
        request_id: requestId,
        ...(trace.traceparent ? { trace_id: traceIdOf(trace.traceparent) } : {}),
        method: request.method,
        // The route pattern, not the path, because paths of unknown routes may contain anything.
        route: request.route?.path,
        status: response.statusCode,
        duration_ms: Math.round((performance.now() - startedAtMs) * 100) / 100,
        key_id: keyId,
        ...(response.writableFinished ? {} : { aborted: true }),
      },
      'request',
    );
  });
}
