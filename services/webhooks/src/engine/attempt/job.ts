import type { Environment, Tenant } from '@rms/base/tenant';
import type { EndReason } from '@rms/base/webhook-events';
import type { ExchangeTimes, HeaderPair } from '@rms/net/guarded-http';
import { type Endpoint, type EndpointRow, toEndpoint } from '../../webhook/webhook-queries.ts';

/** A delivery's key. */
export interface DeliveryRef extends Tenant {
  readonly id: string;
}

/** A delivery leased by this instance, with everything an attempt needs. */
export interface DeliveryJob extends DeliveryRef {
  readonly eventId: string;
  readonly eventType: string;
  readonly requestId: string;
  readonly traceparent: string;
  readonly tracestate: string;
  readonly body: Buffer;
  readonly webhookId: string;
  readonly resourceId: string;
  /**
   * Whether the delivery is in the lane of its resource. The next delivery of the lane becomes due when this one ends.
   */
  readonly ordered: boolean;
  readonly endpoint: Endpoint;
  /** Whether this is a redelivery or a replay. Its event may be old. */
  readonly again: boolean;
  /** Attempts in this round so far. */
  readonly tries: number;
  /** Number of this lease. It increases with every lease of the delivery. */
  readonly lease: number;
  /** Start of the lease on this instance's clock, performance.now(). */
  readonly leasedAtMs: number;
}

/** The parts of an event that an attempt needs. */
export interface JobEvent {
  readonly traceparent: string;
  readonly tracestate: string;
  readonly body: Buffer;
}

/** Columns of a delivery and its webhook that make a job. */
export interface JobRow extends EndpointRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  event_id: string;
  event_type: string;
  webhook_id: string;
  resource_id: string;
  request_id: string;
  ordered: boolean;
  origin: string;
  tries: number;
  lease: number;
}

export function toJob(row: JobRow, { traceparent, tracestate, body }: JobEvent, leasedAtMs: number): DeliveryJob {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    eventId: row.event_id,
    eventType: row.event_type,
    requestId: row.request_id,
    traceparent,
    tracestate,
    body,
    webhookId: row.webhook_id,
    resourceId: row.resource_id,
    ordered: row.ordered,
    again: row.origin !== 'event',
    endpoint: toEndpoint(row),
    tries: row.tries,
    lease: row.lease,
    leasedAtMs,
  };
}

/** Result of an attempt. */
export interface AttemptResult {
  readonly startedAt: Date;
  /** The response's status, even if the response is incomplete; 0 if no status arrived. */
  readonly statusCode: number;
  /** Empty if delivered. "status: …" if a complete response has another status than 200. */
  readonly error: string;
  readonly durationMs: number;
  readonly timings: ExchangeTimes;
  /** The dialed address; undefined if none was dialed, or if an egress proxy did not report it. */
  readonly address: string | undefined;
  readonly requestHeaders: readonly HeaderPair[];
  readonly responseHeaders: readonly HeaderPair[];
  /** The first 16 KiB. */
  readonly responseBody: Buffer;
  /** The delay requested by a 429 or 503 response. */
  readonly retryAfterMs: number | undefined;
}

/** The consequences of an attempt. */
export interface Settlement {
  readonly status: 'pending' | 'delivered' | 'failed';
  /** Delay until the next attempt; undefined without a next attempt. */
  readonly dueInMs: number | undefined;
  /** Set if the delivery has failed. */
  readonly endReason?: Extract<EndReason, 'retries_exhausted' | 'endpoint_gone'>;
}
