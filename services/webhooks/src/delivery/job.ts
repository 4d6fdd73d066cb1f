import type { Tenant } from '../subscription/webhook.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** A delivery that this instance has leased, with all that an attempt needs. */
export interface DeliveryJob extends Tenant {
  readonly id: string;
  readonly eventId: string;
  readonly requestId: string;
  readonly traceparent: string;
  readonly body: Buffer;
  readonly webhookId: string;
  readonly url: string;
  readonly secretSealed: Buffer;
  readonly secretVersion: number;
  readonly retryPolicy: RetryPolicy;
  /** Attempts made so far in this round. */
  readonly tries: number;
  /** Which lease of this delivery it is. */
  readonly lease: number;
  /** When the lease began, on this instance's clock (performance.now()). */
  readonly leasedAtMs: number;
}

/** How long an attempt may take at most: the specification's 10 seconds for the whole answer. */
export const attemptTimeoutMs = 10_000;
/** Covers an attempt and the writing of its result; after it another instance attempts. */
export const leaseMs = 20_000;
/** A job that has waited longer in the queue is left to its lease: its attempt could outlast it. */
export const startWithinMs = 7_000;

/** What one attempt came to. */
export interface AttemptResult {
  readonly startedAt: Date;
  /** 0: no answer. */
  readonly statusCode: number;
  /** Empty if delivered. */
  readonly error: string;
  readonly durationMs: number;
  /** The first 16 KiB. */
  readonly responseBody: Buffer;
  /** What a 429 or 503 asked for. */
  readonly retryAfterMs: number | undefined;
}
