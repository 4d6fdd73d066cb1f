import { FairShare } from '@rms/async';
import { outsideSpans } from '@rms/async/tracing';
import { toRmsError } from '@rms/base/errors';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import { PeriodicReport } from '../periodic-report.ts';

/** A request as reported to auth. */
export interface RequestRecord {
  readonly workspaceId: string;
  readonly environment: Environment;
  readonly requestId: string;
  /** Microseconds since the Unix epoch. */
  readonly startTimeUs: number;
  readonly traceId: string;
  readonly method: string;
  readonly route: string;
  /** Without the query, secrets redacted. Empty if no route matched. */
  readonly path: string;
  readonly clientAddress: string;
  readonly status: number;
  readonly errorCode: string;
  readonly keyId: string;
  readonly replayed: boolean;
  /** Milliseconds from the request's start to the end of each step. -1 if the request did not reach the step. */
  readonly authenticatedMs: number;
  readonly limitedMs: number;
  readonly handledMs: number;
  readonly durationMs: number;
}

/** Which requests are recorded. `writes`: every request except GET and HEAD, and every failed request. */
export type RequestLogScope = 'all' | 'writes' | 'none';

export interface RequestLogParts {
  readonly auth: Pick<RpcClient<typeof RequestsService>, 'batchReportRequests'>;
  readonly scope: RequestLogScope;
  /** Called with the number of lost records. */
  readonly dropped: (records: number) => void;
  readonly log: Logger;
}

const flushEveryMs = 1_000;
/** Records per report. A full batch is reported immediately. */
const batchSize = 2_000;
/** Records kept while auth is unavailable, in total and per workspace. Further ones are lost. */
const maxBuffered = 20_000;
const maxPerWorkspace = 5_000;
/** Statuses of refused requests. They count toward no quota, so their records are sampled. */
const refusals: readonly number[] = [401, 403, 429];
/** Records of refused requests per workspace, environment and minute. Further ones are only counted. */
const refusalsPerMinute = 100;
const minuteMs = 60_000;

/** Requests of a workspace that are counted instead of recorded. */
interface LeftOut extends Pick<RequestRecord, 'workspaceId' | 'environment'> {
  requests: number;
}

/**
 * Records the outcomes of requests and reports them to auth in batches. Requests never wait for a report. Of refused
 * requests, a sample is recorded and the others are counted. A killed process loses the records of its last second.
 */
export class RequestLog extends PeriodicReport {
  readonly #parts: RequestLogParts;
  #records: RequestRecord[] = [];
  /** #records and the batch that is being reported, by workspace. */
  readonly #shares = new FairShare({ total: maxBuffered, perTenant: maxPerWorkspace });
  /** Number of refused requests in the minute that began at #minuteAtMs, per workspace and environment. */
  #refused = new Map<string, number>();
  #minuteAtMs = 0;
  /** Not yet reported, per workspace and environment. */
  #leftOut = new Map<string, LeftOut>();
  #unavailable = false;

  constructor(parts: RequestLogParts) {
    super(flushEveryMs);
    this.#parts = parts;
  }

  /** Whether any requests are recorded. */
  get isKept(): boolean {
    return this.#parts.scope !== 'none';
  }

  /** Returns whether a request should be recorded. */
  wants(method: string, status: number): boolean {
    const { scope } = this.#parts;
    if (scope === 'all') return true;
    return scope === 'writes' && ((method !== 'GET' && method !== 'HEAD') || status >= 400);
  }

  note(record: RequestRecord): void {
    this.collected();
    if (refusals.includes(record.status) && this.#leavesOut(record)) return;
    if (!this.#shares.take(record.workspaceId)) {
      this.#parts.dropped(1);
      return;
    }
    this.#records.push(record);
    if (this.#records.length >= batchSize && !this.#unavailable) void this.flush();
  }

  override start(): void {
    if (this.isKept) super.start();
  }

  /** Counts a refused request, and returns whether it is not recorded. */
  #leavesOut({ workspaceId, environment }: RequestRecord): boolean {
    const tenant = `${workspaceId} ${environment}`;
    const nowMs = performance.now();
    if (nowMs - this.#minuteAtMs >= minuteMs) {
      this.#refused.clear();
      this.#minuteAtMs = nowMs;
    }
    const refused = (this.#refused.get(tenant) ?? 0) + 1;
    this.#refused.set(tenant, refused);
    if (refused <= refusalsPerMinute) return false;
    const leftOut = this.#leftOut.get(tenant);
    if (leftOut) leftOut.requests += 1;
    else this.#leftOut.set(tenant, { workspaceId, environment, requests: 1 });
    return true;
  }

  /** Reports the collected records and counts. After a failed report, they are retried with the next one. */
  protected override async report(): Promise<void> {
    while (this.#records.length > 0 || this.#leftOut.size > 0) {
      const batch = this.#records.splice(0, batchSize);
      const counted = this.#leftOut;
      this.#leftOut = new Map();
      const leftOut = [...counted.values()].map(({ requests, ...tenant }) => ({
        ...tenant,
        requests: BigInt(requests),
      }));
      try {
        // A traced request may trigger the flush, but the report is not part of its trace.
        await outsideSpans(() => this.#parts.auth.batchReportRequests({ columns: toColumns(batch), leftOut }));
        this.#unavailable = false;
        this.#release(batch);
      } catch (err) {
        for (const [tenant, { requests }] of this.#leftOut) {
          const earlier = counted.get(tenant);
          if (earlier) earlier.requests += requests;
        }
        this.#leftOut = new Map([...this.#leftOut, ...counted]);
        if (toRmsError(err).kind.retryable) return this.#requeue(batch, err);
        // A retry would fail again.
        this.#parts.log.error({ err, requests: batch.length }, 'auth rejected request records; dropped them');
        this.#parts.dropped(batch.length);
        this.#release(batch);
      }
    }
  }

  #release(batch: readonly RequestRecord[]): void {
    for (const { workspaceId } of batch) this.#shares.release(workspaceId);
  }

  #requeue(batch: readonly RequestRecord[], err: unknown): void {
    if (!this.#unavailable)
      this.#parts.log.warn({ err }, 'could not report request records; retrying with a later report');
    this.#unavailable = true;
    this.collected();
    this.#records.unshift(...batch);
  }
}

function toColumns(records: readonly RequestRecord[]) {
  return {
    workspaceIds: records.map(({ workspaceId }) => workspaceId),
    environments: records.map(({ environment }) => environment),
    requestIds: records.map(({ requestId }) => requestId),
    startTimesUs: records.map(({ startTimeUs }) => startTimeUs),
    traceIds: records.map(({ traceId }) => traceId),
    methods: records.map(({ method }) => method),
    routes: records.map(({ route }) => route),
    paths: records.map(({ path }) => path),
    clientAddresses: records.map(({ clientAddress }) => clientAddress),
    statuses: records.map(({ status }) => status),
    errorCodes: records.map(({ errorCode }) => errorCode),
    keyIds: records.map(({ keyId }) => keyId),
    replayed: records.map(({ replayed }) => replayed),
    authenticatedMs: records.map(({ authenticatedMs }) => authenticatedMs),
    limitedMs: records.map(({ limitedMs }) => limitedMs),
    handledMs: records.map(({ handledMs }) => handledMs),
    durationsMs: records.map(({ durationMs }) => durationMs),
  };
}
