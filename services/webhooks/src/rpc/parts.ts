import { RmsError } from '@rms/base/errors';
import { type IdPrefix, isId, mustBeId } from '@rms/base/ids';
import type { Keys, SecretBox } from '@rms/base/secrets';
import { toTenant } from '@rms/base/tenant';
import type { Egress } from '@rms/net/guarded-http';
import type { DatabaseTime, Pool, Queue } from '@rms/postgres/db';
import type { Idempotency, IdempotentRequest } from '@rms/postgres/idempotency';
import type { Logger } from '@rms/runtime/logging';
import type { EndpointAgents } from '../engine/attempt/endpoint-agents.ts';
import type { SecretCache } from '../engine/attempt/signers.ts';
import type { DeliveryEngine } from '../engine/engine.ts';
import type { FeedWatchers } from '../event/feed-watchers.ts';
import type { WebhookStatus } from '../webhook/webhook.ts';

/** Dependencies of the handlers. */
export interface HandlerParts {
  readonly pool: Pool;
  readonly box: SecretBox;
  readonly idempotency: Idempotency;
  readonly secrets: SecretCache;
  readonly agents: EndpointAgents;
  readonly egress: Egress;
  readonly engine: DeliveryEngine;
  readonly watchers: FeedWatchers;
  readonly queues: Readonly<Record<'parked' | 'replays' | 'notices' | 'operational', Queue>>;
  readonly time: DatabaseTime;
  readonly pageTokenKeys: Keys;
  /** Maximum number of webhooks per workspace, unless its plan sets a limit. 0 means no limit. */
  readonly maxWebhooks: number;
  readonly log: Logger;
}

/** Describes a request with the ID of its object as content. An idempotency key requires an environment. */
export function idempotentRequest(
  operation: string,
  request: Parameters<typeof toTenant>[0] & { readonly id: string; readonly idempotencyKey: string },
): IdempotentRequest {
  return { tenant: () => toTenant(request), operation, key: request.idempotencyKey, content: request.id };
}

/** Returns `thing`, or throws `not_found` if it is undefined. */
export function found<T>(thing: T | undefined, noun: 'webhook' | 'delivery' | 'replay' | 'event', id: string): T {
  if (thing === undefined) throw new RmsError('not_found', { message: `There is no ${noun} "${id}".` });
  return thing;
}

/**
 * Throws `conflict` if the webhook is disabled or deleted (null), instead of accepting a delivery that fails
 * immediately.
 */
export function checkCallable(status: WebhookStatus | null): void {
  if (status === 'active') return;
  const message = status === null ? 'The webhook has been deleted.' : `The webhook is ${status}. Enable it first.`;
  throw new RmsError('conflict', { message });
}

/**
 * Throws `invalid_request` for filters that are neither empty nor an ID, which no row can match.
 * @param filters value and prefixes by field
 */
export function checkIdFilters(
  filters: Readonly<Record<string, readonly [id: string, ...prefixes: [IdPrefix, ...IdPrefix[]]]>>,
): void {
  const details = Object.entries(filters).flatMap(([field, [id, ...prefixes]]) =>
    id === '' || prefixes.some((prefix) => isId(prefix, id)) ? [] : { field, message: mustBeId(...prefixes) },
  );
  if (details.length > 0) throw new RmsError('invalid_request', { details });
}

/** Page size of lists that a workspace can fill without limit: deliveries, events, dead letters. */
export const longPage = 1_000;
/** Page size of the other lists. */
export const shortPage = 100;

export function checkPageSize(pageSize: number, limit: number): void {
  if (pageSize >= 1 && pageSize <= limit) return;
  throw new RmsError('invalid_request', { details: [{ field: 'per_page', message: `must be 1 to ${limit}` }] });
}
