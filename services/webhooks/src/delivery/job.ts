import type { Tenant, Webhook } from '../subscription/webhook.ts';

/** What names a delivery. */
export interface DeliveryRef extends Tenant {
  readonly id: string;
}

/** A delivery that this instance has leased, with all that an attempt needs. */
export interface DeliveryJob extends DeliveryRef {
  readonly eventId: string;
  readonly requestId: string;
  readonly traceparent: string;
  readonly body: Buffer;
  readonly webhookId: string;
  readonly resourceId: string;
  /** In the lane of its resource: its end lets the next one go. */
  readonly ordered: boolean;
  readonly endpoint: Endpoint;
  /** It is sent again, by a redelivery or a replay: its event may be of long ago. */
  readonly again: boolean;
  /** Attempts made so far in this round. */
  readonly tries: number;
  /** Which lease of this delivery it is. */
  readonly lease: number;
  /** When the lease began, on this instance's clock (performance.now()). */
  readonly leasedAtMs: number;
}

/** Where a webhook's deliveries go, and how. */
export type Endpoint = Pick<
  Webhook,
  | 'url'
  | 'secretSealed'
  | 'secretVersion'
  | 'previousSecretSealed'
  | 'previousSecretUntil'
  | 'clientCertificate'
  | 'clientKeySealed'
  | 'retryPolicy'
>;

/** How long an attempt may take at most: the specification's 10 seconds for the whole answer. */
export const attemptTimeoutMs = 10_000;
/** Covers an attempt and the writing of its result; after it another instance attempts. */
export const leaseMs = 20_000;
/** A job that has waited longer in the queue is left to its lease: its attempt could outlast it. */
export const startWithinMs = 7_000;

export type HeaderPair = readonly [name: string, value: string];

/**
 * Where the time of an attempt went, in milliseconds; 0 for what a connection that was open already spared. Through an
 * egress proxy `connect` covers all until the proxy has connected, and `dns` is 0.
 */
export interface Timings {
  readonly dns: number;
  readonly connect: number;
  readonly tls: number;
  /** From the request that is sent to the answer's first byte; undefined: there was none. */
  readonly firstByte: number | undefined;
}

/** What one attempt came to. */
export interface AttemptResult {
  readonly startedAt: Date;
  /** 0: no answer. */
  readonly statusCode: number;
  /** Empty if delivered. */
  readonly error: string;
  readonly durationMs: number;
  readonly timings: Timings;
  /** The address that was dialled; undefined: none was, or an egress proxy does not tell. */
  readonly address: string | undefined;
  readonly requestHeaders: readonly HeaderPair[];
  readonly responseHeaders: readonly HeaderPair[];
  /** The first 16 KiB. */
  readonly responseBody: Buffer;
  /** What a 429 or 503 asked for. */
  readonly retryAfterMs: number | undefined;
}
