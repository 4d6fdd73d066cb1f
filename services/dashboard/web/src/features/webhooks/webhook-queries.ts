import type { FullWebhook, Webhook } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import { type List, useTenantObject, useTenantQuery } from '../../api/tenant.ts';

const perPage = '100';
const fullHealth = { full_health: 'true' };

/** Queries a webhook with its full health. `id`: undefined while it is unknown. */
export function useWebhook(
  id: string | undefined,
  options: { readonly everyMs?: number | false } = {},
): UseQueryResult<FullWebhook> {
  return useTenantObject(`/webhooks/${id}`, { search: fullHealth, enabled: id !== undefined, ...options });
}

/** Queries the first page of webhooks. */
export function useWebhooks(everyMs: number | false = false): UseQueryResult<List<Webhook>> {
  return useTenantQuery('/webhooks', { search: { per_page: perPage }, everyMs });
}

/** Filters of the list, with the names and values of the URL's search parameters. */
export type WebhookFilter = Partial<Record<'url' | 'status' | 'health', string>>;

/** Queries a page of webhooks with their full health. */
export function useWebhooksWithHealth(
  search: WebhookFilter & { readonly cursor?: string },
): UseQueryResult<List<FullWebhook>> {
  return useTenantQuery('/webhooks', { search: { ...search, ...fullHealth, per_page: perPage }, everyMs: 10_000 });
}

/** Queries the first page of webhooks with a state of their health. */
export function useWebhooksInState(health: 'failing' | 'paused'): UseQueryResult<List<Webhook>> {
  return useTenantQuery('/webhooks', { search: { health, per_page: perPage }, everyMs: 10_000 });
}

/** Returns the URLs by webhook ID. */
export function urlsOf(webhooks: List<Webhook> | undefined): ReadonlyMap<string, string> {
  return new Map(webhooks?.data.map(({ id, url }) => [id, url]));
}
