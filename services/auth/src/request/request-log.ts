import type { Environment } from '@rms/base/tenant';
import { dayPartitions } from '@rms/postgres/db';

/** An API request and its outcome. */
export interface LoggedRequest {
  readonly workspaceId: string;
  readonly environment: Environment;
  readonly requestId: string;
  readonly startedAt: Date;
  /** Empty if the request was not traced. */
  readonly traceId: string;
  readonly method: string;
  /** Without the query, secrets redacted. Empty if no route matched, or if it was not recorded. */
  readonly path: string;
  /** Empty if it was not recorded. */
  readonly clientAddress: string;
  /** Empty if no route matched. */
  readonly route: string;
  /** 0 if the client disconnected before the response. */
  readonly status: number;
  /** Empty if there was no error. */
  readonly errorCode: string;
  readonly keyId: string;
  /** "user:usr_…"; empty for a request with an API key. */
  readonly actor: string;
  readonly replayed: boolean;
  /** Milliseconds from the request's start to the end of each step. null if the request did not reach the step. */
  readonly authenticatedMs: number | null;
  readonly limitedMs: number | null;
  readonly handledMs: number | null;
  readonly durationMs: number;
  /** Hint of the key as shown to users. Empty if the key is unknown. */
  readonly keyHint: string;
  readonly keyName: string;
}

/**
 * Partitions cover one day back because reports arrive within seconds. Entries that a gateway reports more than a day
 * late are lost.
 */
export const requestPartitions = dayPartitions('auth', { daysBack: 1, daysAhead: 7 });
