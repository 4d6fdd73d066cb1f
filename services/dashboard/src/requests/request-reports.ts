import { wallTimeOf } from '@rms/net/http';
import { timestampFromMs } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Backend } from '../context.ts';
import type { PageResponse } from '../http/locals.ts';
import type { TenantCall } from '../routes/endpoint.ts';

/** Reports changes that users and portal sessions make to the request log, so that it names who caused an event or an attempt. */
export interface RequestReports {
  /** Reports a call when its response has been sent or the browser has disconnected. */
  report(change: ReportedChange): void;
  /** Waits for reports in flight. */
  stop(): Promise<void>;
}

/** Call that changes data of a workspace. */
export interface ReportedChange {
  readonly response: PageResponse;
  readonly method: string;
  /** Route pattern. */
  readonly route: string;
  readonly tenant: TenantCall<unknown, unknown>['tenant'];
  readonly context: TenantCall<unknown, unknown>['context'];
}

interface Parts {
  readonly backend: Pick<Backend, 'requests'>;
  /** False: requests are not reported. */
  readonly isKept: boolean;
  /** Called with the number of requests that were not reported. */
  readonly lost: (requests: number) => void;
  readonly log: Logger;
}

/** Further reports are lost. Users make few changes, so that only an outage of auth reaches this limit. */
const inFlightAtMost = 100;

/** Creates the reports. A call never waits for its report, and a failed report is not retried. */
export function createRequestReports({ backend, isKept, lost, log }: Parts): RequestReports {
  const inFlight = new Set<Promise<void>>();

  const send = async ({ response, method, route, tenant, context }: ReportedChange) => {
    const { requestId, startedAtMs, errorCode } = response.locals;
    try {
      if (inFlight.size >= inFlightAtMost) throw new Error('too many reports in flight');
      await backend.requests.batchReportRequests(
        {
          requests: [
            {
              ...tenant,
              requestId,
              startTime: timestampFromMs(wallTimeOf(startedAtMs)),
              method,
              route,
              status: response.writableFinished ? response.statusCode : 0,
              errorCode,
              actor: context.actor ?? '',
              keyId: context.principal?.keyId ?? '',
              clientAddress: context.clientAddress ?? '',
              durationMs: performance.now() - startedAtMs,
            },
          ],
        },
        { context },
      );
    } catch (err) {
      lost(1);
      log.warn({ err, request_id: requestId }, 'could not report a request; it is missing from the request log');
    }
  };

  return {
    report(change) {
      if (!isKept) return;
      change.response.once('close', () => {
        const sending = send(change).finally(() => inFlight.delete(sending));
        inFlight.add(sending);
      });
    },
    async stop() {
      await Promise.all(inFlight);
    },
  };
}
