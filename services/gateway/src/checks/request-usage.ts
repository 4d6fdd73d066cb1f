import type { LimitDecision } from '@rms/limits';
import type { RequestCounts } from '@rms/proto/rms/alerts/v1/usage_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { Principal } from '@rms/proto/rms/common/v1/common_pb';
import { addLatency, noLatencies, type Tally, UsageReporter } from '@rms/reporting/usage';
import { type RpcClient, timestampFromMs } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { ApiResponse } from '../http/locals.ts';

/** Outcome counts of requests, per workspace and environment. */
interface RequestTally extends Tally, Pick<Principal, 'environment'> {
  requests: number;
  admitted: number;
  clientErrors: number;
  serverErrors: number;
  rateLimited: number;
  quotaRefused: number;
  readonly latencies: number[];
  monthlyQuota: number;
}

const sums = ['requests', 'admitted', 'clientErrors', 'serverErrors', 'rateLimited', 'quotaRefused'] as const;

/**
 * Counts the outcomes of requests and reports them to the alerts service once a second. Requests never wait for a
 * report. Does nothing if no alerts service is configured.
 */
export class RequestUsage {
  readonly #reporter: UsageReporter<RequestTally> | undefined;

  /** @param parts.nowMs returns the time that all gateways share, in milliseconds since 1970 */
  constructor(
    alerts: Pick<RpcClient<typeof UsageService>, 'reportUsage'> | undefined,
    { log, nowMs }: { readonly log: Logger; readonly nowMs: () => number },
  ) {
    if (!alerts) return;
    this.#reporter = new UsageReporter<RequestTally>({
      send: ({ reporterId, sequence, tallies }) =>
        alerts.reportUsage({ reporterId, sequence, requests: tallies.map(toMessage) }),
      add(earlier, later) {
        for (const name of sums) earlier[name] += later[name];
        for (const [i, count] of later.latencies.entries()) earlier.latencies[i] = (earlier.latencies[i] ?? 0) + count;
        earlier.monthlyQuota = later.monthlyQuota;
      },
      log,
      now: nowMs,
    });
  }

  /** Counts an authenticated request when its response ends. By then its locals contain the limit decision. */
  follow(response: ApiResponse, principal: Principal, monthlyQuota: number): void {
    const reporter = this.#reporter;
    if (!reporter) return;
    response.once('close', () => {
      const tally = reporter.tally(`${principal.workspaceId} ${principal.environment}`, (key, minuteMs) =>
        newTally(key, minuteMs, principal),
      );
      if (!tally) return;
      count(tally, response.statusCode, response.locals.limitOutcome);
      addLatency(tally.latencies, performance.now() - response.locals.startedAtMs);
      tally.monthlyQuota = monthlyQuota;
    });
  }

  start(): void {
    this.#reporter?.start();
  }

  /** Reports the remaining counts. */
  async stop(): Promise<void> {
    await this.#reporter?.stop();
  }
}

function newTally(key: string, minuteMs: number, { workspaceId, environment }: Principal): RequestTally {
  return {
    key,
    minuteMs,
    workspaceId,
    environment,
    requests: 0,
    admitted: 0,
    clientErrors: 0,
    serverErrors: 0,
    rateLimited: 0,
    quotaRefused: 0,
    latencies: noLatencies(),
    monthlyQuota: 0,
  };
}

function count(tally: RequestTally, statusCode: number, outcome: LimitDecision['outcome'] | undefined): void {
  tally.requests += 1;
  if (statusCode >= 500) tally.serverErrors += 1;
  else if (statusCode >= 400) tally.clientErrors += 1;
  if (outcome === 'allowed') tally.admitted += 1;
  else if (outcome === 'rate_limited') tally.rateLimited += 1;
  else if (outcome === 'quota_exceeded') tally.quotaRefused += 1;
}

function toMessage(tally: RequestTally): Omit<RequestCounts, '$typeName'> {
  return {
    workspaceId: tally.workspaceId,
    environment: tally.environment,
    time: timestampFromMs(tally.minuteMs),
    requests: BigInt(tally.requests),
    admitted: BigInt(tally.admitted),
    clientErrors: BigInt(tally.clientErrors),
    serverErrors: BigInt(tally.serverErrors),
    rateLimited: BigInt(tally.rateLimited),
    quotaRefused: BigInt(tally.quotaRefused),
    latencies: tally.latencies.map(BigInt),
    monthlyQuota: BigInt(tally.monthlyQuota),
  };
}
