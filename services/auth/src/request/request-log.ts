import type { KeyEnvironment } from '@rms/api-key';
import { dayPartitions } from '@rms/db';

/** A request of the API, and what it came to. */
export interface LoggedRequest {
  /** Empty: it has shown no key that is valid. */
  readonly workspaceId: string;
  readonly environment: KeyEnvironment;
  readonly requestId: string;
  readonly startedAt: Date;
  /** Empty: it was not traced. */
  readonly traceId: string;
  readonly method: string;
  /** Empty: there is no such address. */
  readonly route: string;
  /** 0: the client went away before it was answered. */
  readonly status: number;
  /** Empty: none. */
  readonly errorCode: string;
  readonly keyId: string;
  readonly replayed: boolean;
  /** Milliseconds from its start until each step had ended; null: it did not come so far. */
  readonly authenticatedMs: number | null;
  readonly limitedMs: number | null;
  readonly handledMs: number | null;
  readonly durationMs: number;
  /** What a person knows its key by; empty if the key is not known. */
  readonly keyHint: string;
  readonly keyName: string;
}

/** Reports come within seconds of the request; who was away for longer than a day has lost what it knew. */
export const requestPartitions = dayPartitions('auth', { daysBack: 1, daysAhead: 7 });
