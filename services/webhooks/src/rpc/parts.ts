import { type Pool, translatePgError } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { Keys, SecretBox } from '@rms/secrets';
import type { Logger } from '@rms/service';
import type { EndpointAgents } from '../delivery/endpoint-agents.ts';
import type { DeliveryEngine } from '../delivery/engine.ts';
import type { SecretCache } from '../delivery/secret-cache.ts';
import type { Egress } from '../egress/egress.ts';
import type { FeedWatchers } from '../feed/feed-watchers.ts';
import type { WebhookStatus } from '../subscription/webhook.ts';

/** What the handlers need. */
export interface HandlerParts {
  readonly pool: Pool;
  readonly box: SecretBox;
  readonly secrets: SecretCache;
  readonly agents: EndpointAgents;
  readonly egress: Egress;
  readonly engine: Pick<DeliveryEngine, 'wake'>;
  readonly watchers: Pick<FeedWatchers, 'join'>;
  readonly pageTokenKeys: Keys;
  readonly log: Logger;
}

/** Runs a handler's work; whatever PostgreSQL raises leaves as the one error type. */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translatePgError(error);
  }
}

/** The thing, or `not_found`. */
export function found<T>(thing: T | undefined, what: 'webhook' | 'delivery' | 'replay', id: string): T {
  if (thing === undefined) throw new RmsError('not_found', { message: `There is no ${what} "${id}".` });
  return thing;
}

/** A webhook that is disabled, or gone (null), is not called: saying so beats a delivery that fails at once. */
export function checkCallable(status: WebhookStatus | null): void {
  if (status === 'active') return;
  throw new RmsError('conflict', { message: `Its webhook is ${status ?? 'deleted'}.` });
}

export function checkPageSize(pageSize: number, limit: number): void {
  if (pageSize >= 1 && pageSize <= limit) return;
  throw new RmsError('invalid_request', { details: [{ field: 'per_page', message: `must be 1 to ${limit}` }] });
}
