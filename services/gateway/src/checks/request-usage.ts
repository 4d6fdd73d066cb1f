import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { LimitDecision } from '@rms/limiter';
import type { RequestCounts } from '@rms/proto/rms/alerts/v1/usage_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { Principal } from '@rms/proto/rms/common/v1/common_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/service';
import { addLatency, noLatencies, type Tally, UsageReporter } from '@rms/usage';
import type { ApiResponse } from '../http/locals.ts';

/** What requests of one workspace and environment came to. */
interface RequestTally extends Tally, Pick<Principal, 'workspaceId' | 'environment'> {
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

/** Counts what requests come to, and reports it to alerts once a second: no request waits for that. */
export class RequestUsage {
  readonly #reporter: UsageReporter<RequestTally>;

  constructor(alerts: Pick<RpcClient<typeof UsageService>, 'reportUsage'>, log: Logger) {
    this.#reporter = new UsageReporter<RequestTally>({
      send: ({ reporterId, sequence, tallies }) =>
        alerts.reportUsage({ reporterId, sequence, requests: tallies.map(toMessage) }),
      add(earlier, later) {
        for (const name of sums) earlier[name] += later[name];
        for (const [i, count] of later.latencies.entries()) earlier.latencies[i] = (earlier.latencies[i] ?? 0) + count;
        earlier.monthlyQuota = later.monthlyQuota;
      },
      log,
    });
  }

  /** Counts a request whose caller is known, once its answer has gone; what the limits said of it is in its locals by then. */
  follow(response: ApiResponse, principal: Principal, monthlyQuota: number): void {
    response.once('close', () => {
      const tally = this.#reporter.tally(`${principal.workspaceId} ${principal.environment}`, (key, minuteMs) =>
        newTally(key, minuteMs, principal),
      );
      if (!tally) return;
      count(tally, response.statusCode, response.locals.limitOutcome);
      addLatency(tally.latencies, performance.now() - response.locals.startedAtMs);
      tally.monthlyQuota = monthlyQuota;
    });
  }

  start(): void {
    this.#reporter.start();
  }

  /** Reports what is left. */
  stop(): Promise<void> {
    return this.#reporter.stop();
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
