import type { Tenant } from '@rms/base/tenant';
import type { Endpoint } from '../../webhook/endpoint-queries.ts';
import { timeoutLimits } from '../../webhook/webhook.ts';

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

/**
 * Duration of a lease, in addition to the timeout of its webhook: up to 7 s leased ahead, and 3 s to record the result.
 * Afterwards another instance may attempt the delivery.
 */
export const leaseMarginMs = 10_000;
/** Duration of a lease with the longest timeout. */
export const longestLeaseMs = leaseMarginMs + timeoutLimits.mostMs;
/** Time for the attempts in flight when an instance stops: shorter than the time until its process is ended. */
export const stopWithinMs = 20_000;
/** Maximum time from a lease to the start of its attempt. A later attempt could outlast the lease. */
export const startWithinMs = 7_000;
