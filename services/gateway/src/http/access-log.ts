import type { Logger } from '@rms/service';
import { traceIdOf } from '@rms/tracing';
import type { Request } from 'express';
import type { ApiResponse } from './locals.ts';

/** One line for each request, when its answer has been handed to the system or its client has gone. */
export function logAccess(request: Request, response: ApiResponse, log: Logger): void {
  if (!log.isLevelEnabled('info')) return;
  response.once('close', () => {
    const { requestId, traceparent, keyId, startedAtMs } = response.locals;
    log.info(
      {
        request_id: requestId,
        ...(traceparent ? { trace_id: traceIdOf(traceparent) } : {}),
        method: request.method,
        // The pattern, not the path: paths of those who guess may hold anything.
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
