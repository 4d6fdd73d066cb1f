import type { LimitDecision } from '@rms/limits';
import { type RequestCounts, RequestDimension } from '@rms/proto/rms/alerts/v1/usage_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { Principal } from '@rms/proto/rms/common/v1/common_pb';
import { addLatency, noLatencies, type Tally, UsageReporter } from '@rms/reporting/usage';
import { type RpcClient, timestampFromMs } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { ApiResponse } from '../http/observe-request.ts';

/** Outcome counts of requests, per workspace and environment, or of a group of them. */
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

/** What the requests of a group have in common; see rms.alerts.v1.RequestDimension. */
interface GroupTally extends RequestTally {
  readonly dimension: RequestDimension;
  readonly name: string;
}

const sums = ['requests', 'admitted', 'clientErrors', 'serverErrors', 'rateLimited', 'quotaRefused'] as const;

/** Groups are only shown, so they are reported less often than the sums, which alerts and the quota need. */
const flushGroupsEveryMs = 5_000;

/**
 * Counts the outcomes of requests and reports them to the alerts service: sums once a second, groups every
 * {@link flushGroupsEveryMs}. Requests never wait for a report. Does nothing if no alerts service is configured.
 */
export class RequestUsage {
  readonly #sums: UsageReporter<RequestTally> | undefined;
  readonly #groups: UsageReporter<GroupTally> | undefined;

  /** @param parts.nowMs returns the time that all gateways share, in milliseconds since 1970 */
  constructor(
    alerts: RpcClient<typeof UsageService> | undefined,
    { log, nowMs }: { readonly log: Logger; readonly nowMs: () => number },
  ) {
    if (!alerts) return;
    const parts = { add, log, now: nowMs };
    this.#sums = new UsageReporter<RequestTally>({
      ...parts,
      send: ({ tallies, ...report }) => alerts.reportUsage({ ...report, requests: tallies.map(toMessage) }),
    });
    this.#groups = new UsageReporter<GroupTally>({
      ...parts,
      flushEveryMs: flushGroupsEveryMs,
      send: ({ tallies, ...report }) => alerts.reportUsage({ ...report, requestGroups: tallies.map(toGroupMessage) }),
    });
  }

  /** Counts an authenticated request when its response ends. By then its locals contain the limit decision. */
  follow(response: ApiResponse, principal: Principal, monthlyQuota: number): void {
    const [all, groups] = [this.#sums, this.#groups];
    if (!all || !groups) return;
    response.once('close', () => {
      const tenant = `${principal.workspaceId} ${principal.environment}`;
      // As in the request log: a client that disconnected got no response.
      const status = response.writableFinished ? response.statusCode : 0;
      const counted = { status, outcome: response.locals.limitOutcome, monthlyQuota };
      const durationMs = performance.now() - response.locals.startedAtMs;
      const countIn = (tally: RequestTally | undefined) => {
        if (!tally) return;
        count(tally, counted);
        addLatency(tally.latencies, durationMs);
      };
      countIn(all.tally(tenant, (key, minuteMs) => newTally(key, minuteMs, principal)));
      for (const [dimension, name] of [
        [RequestDimension.ROUTE, routeOf(response.req)],
        [RequestDimension.STATUS_CLASS, status === 0 ? noName : `${Math.floor(status / 100)}xx`],
        [RequestDimension.API_KEY_ID, principal.keyId],
      ] as const) {
        countIn(
          groups.tally(`${tenant} ${dimension} ${name}`, (key, minuteMs) => ({
            ...newTally(key, minuteMs, principal),
            dimension,
            name,
          })),
        );
      }
    });
  }

  start(): void {
    this.#sums?.start();
    this.#groups?.start();
  }

  /** Reports the remaining counts. */
  async stop(): Promise<void> {
    await Promise.all([this.#sums?.stop(), this.#groups?.stop()]);
  }
}

/** Name of the group of requests without a route, and of those without a response. */
const noName = 'none';

/** Returns the method and the endpoint's path, as in the OpenAPI document. */
function routeOf({ method, route }: Request): string {
  const path: string = route?.path ?? '';
  return path === '' || path.includes('*') ? noName : `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
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

function add(earlier: RequestTally, later: RequestTally): void {
  for (const name of sums) earlier[name] += later[name];
  for (const [i, count] of later.latencies.entries()) earlier.latencies[i] = (earlier.latencies[i] ?? 0) + count;
  earlier.monthlyQuota = later.monthlyQuota;
}

/** An ended request. */
interface Counted {
  /** 0: the client disconnected before the response. */
  readonly status: number;
  readonly outcome: LimitDecision['outcome'] | undefined;
  readonly monthlyQuota: number;
}

function count(tally: RequestTally, { status, outcome, monthlyQuota }: Counted): void {
  tally.requests += 1;
  if (status >= 500) tally.serverErrors += 1;
  else if (status >= 400) tally.clientErrors += 1;
  if (outcome === 'allowed') tally.admitted += 1;
  else if (outcome === 'rate_limited') tally.rateLimited += 1;
  else if (outcome === 'quota_exceeded') tally.quotaRefused += 1;
  tally.monthlyQuota = monthlyQuota;
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

function toGroupMessage({ dimension, name, ...tally }: GroupTally) {
  return { dimension, name, counts: toMessage(tally) };
}
