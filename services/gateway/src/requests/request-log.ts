import { toRmsError } from '@rms/errors';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/service';
import { outsideSpans } from '@rms/tracing';

/** A request as auth is told of it. */
export interface RequestRecord {
  /** Empty: it has shown no key that is valid. */
  readonly workspaceId: string;
  readonly environment: Environment;
  readonly requestId: string;
  /** Since 1970. */
  readonly startTimeUs: number;
  readonly traceId: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly errorCode: string;
  readonly keyId: string;
  readonly replayed: boolean;
  /** From its start until each step had ended; -1: it did not come so far. */
  readonly authenticatedMs: number;
  readonly limitedMs: number;
  readonly handledMs: number;
  readonly durationMs: number;
}

/** Which requests are told of: `writes` are all that change something, and whatever fails. */
export type RequestLogScope = 'all' | 'writes' | 'none';

export interface RequestLogParts {
  readonly auth: Pick<RpcClient<typeof RequestsService>, 'batchReportRequests'>;
  readonly scope: RequestLogScope;
  /** Told of records that are lost. */
  readonly dropped: (records: number) => void;
  readonly log: Logger;
}

const flushEveryMs = 1_000;
/** So many are reported at once, and as soon as there are as many. */
const batchSize = 2_000;
/** While auth is away; further ones are lost. */
const keptAtMost = 20_000;
/** Of requests without a valid key, between two reports: whoever sends them could fill the table. */
const unknownAtMost = 500;

/** Remembers what requests came to, and reports it to auth in batches: no request waits for that, and a kill loses the last second. */
export class RequestLog {
  readonly #parts: RequestLogParts;
  #records: RequestRecord[] = [];
  #unknown = 0;
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #away = false;

  constructor(parts: RequestLogParts) {
    this.#parts = parts;
  }

  /** Whether any request is to be noted. */
  get isKept(): boolean {
    return this.#parts.scope !== 'none';
  }

  /** Whether a request is to be noted. */
  wants(method: string, status: number): boolean {
    const { scope } = this.#parts;
    if (scope === 'all') return true;
    return scope === 'writes' && ((method !== 'GET' && method !== 'HEAD') || status >= 400);
  }

  note(record: RequestRecord): void {
    if (!record.workspaceId) this.#unknown += 1;
    if ((!record.workspaceId && this.#unknown > unknownAtMost) || this.#records.length >= keptAtMost) {
      this.#parts.dropped(1);
      return;
    }
    this.#records.push(record);
    if (this.#records.length >= batchSize && !this.#away) void this.flush();
  }

  start(): void {
    if (this.#parts.scope === 'none') return;
    this.#timer = setInterval(() => void this.flush(), flushEveryMs).unref();
  }

  /** Reports what is left. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  /** Reports what was noted; what cannot be reported is tried again with the next report. */
  async flush(): Promise<void> {
    this.#flushing ??= this.#report().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  async #report(): Promise<void> {
    this.#unknown = 0;
    while (this.#records.length > 0) {
      const batch = this.#records.splice(0, batchSize);
      try {
        // It may be a request that is traced which begins it.
        await outsideSpans(() => this.#parts.auth.batchReportRequests({ columns: toColumns(batch) }));
        this.#away = false;
      } catch (err) {
        if (toRmsError(err).kind.retryable) return this.#putBack(batch, err);
        // Auth would refuse them each time.
        this.#parts.log.error({ err, requests: batch.length }, 'requests were refused, and are not reported');
        this.#parts.dropped(batch.length);
      }
    }
  }

  #putBack(batch: readonly RequestRecord[], err: unknown): void {
    if (!this.#away) this.#parts.log.warn({ err }, 'requests could not be reported; they come with a later report');
    this.#away = true;
    const room = Math.max(0, keptAtMost - this.#records.length);
    if (batch.length > room) this.#parts.dropped(batch.length - room);
    this.#records.unshift(...batch.slice(0, room));
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
