import type { FieldViolation } from '@rms/errors';
import type { RetryPolicy } from '../delivery/retry-policy.ts';

export type Environment = 'live' | 'sandbox';
export type WebhookStatus = 'active' | 'disabled';
export type DisableReason = 'manual' | 'gone' | 'failing';

/** Whose data: every query is keyed by both. */
export interface Tenant {
  readonly workspaceId: string;
  readonly environment: Environment;
}

/** A subscription of one URL to events. */
export interface Webhook extends Tenant {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly status: WebhookStatus;
  readonly disableReason: DisableReason | undefined;
  readonly secretSealed: Buffer;
  readonly secretVersion: number;
  /** Signs as well, until then. */
  readonly previousSecretSealed: Buffer | undefined;
  readonly previousSecretUntil: Date | undefined;
  /** PEM; shown to the endpoint. */
  readonly clientCertificate: string | undefined;
  readonly clientKeySealed: Buffer | undefined;
  /** One delivery of a resource at a time, in the order of its events. */
  readonly ordered: boolean;
  readonly retryPolicy: RetryPolicy;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Specification, "Events". */
const eventTypes = ['resource.created', 'resource.updated', 'resource.deleted', 'resource.status_changed'];

/** At least one known type, each once; or "*" alone. */
export function checkEvents(events: readonly string[]): FieldViolation[] {
  if (events.length === 0) return [{ field: 'events', message: 'must name at least one event type' }];
  if (events.includes('*')) {
    return events.length === 1 ? [] : [{ field: 'events', message: '"*" stands alone' }];
  }
  const violations = events.flatMap((type, i) =>
    eventTypes.includes(type)
      ? []
      : [{ field: `events.${i}`, message: `must be "*" or one of ${eventTypes.join(', ')}` }],
  );
  if (new Set(events).size < events.length) violations.push({ field: 'events', message: 'must name each type once' });
  return violations;
}
