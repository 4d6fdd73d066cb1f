import type { UseQueryResult } from '@tanstack/react-query';
import type { WebhookDocument } from '../../../../src/documents/webhook.ts';
import type { WebhookHealthDocument } from '../../../../src/documents/webhook-health.ts';
import { useTenantQuery } from '../../api/tenant.ts';

export interface WebhookList {
  readonly data: readonly WebhookDocument[];
  readonly total: number;
}

export interface WebhookHealthList {
  readonly data: readonly (WebhookDocument & { readonly health: WebhookHealthDocument | null })[];
  readonly total: number;
  readonly next: string | null;
  readonly previous: string | null;
}

/** Queries a webhook. `id`: undefined while it is unknown. */
export function useWebhook(id: string | undefined): UseQueryResult<WebhookDocument> {
  return useTenantQuery(`/webhooks/${id}`, { enabled: id !== undefined });
}

/** Queries the first page of webhooks. */
export function useWebhooks(options: { readonly everyMs?: number } = {}): UseQueryResult<WebhookList> {
  return useTenantQuery('/webhooks', options);
}

/** Queries a page of webhooks with their health. */
export function useWebhooksWithHealth(cursor: string | undefined): UseQueryResult<WebhookHealthList> {
  return useTenantQuery('/webhooks', { search: { cursor, with: 'health' }, everyMs: 10_000 });
}

export function useWebhookHealth(id: string): UseQueryResult<WebhookHealthDocument> {
  return useTenantQuery(`/webhooks/${id}/health`, { everyMs: 5_000 });
}

/** Returns the URLs by webhook ID. */
export function urlsOf(webhooks: WebhookList | undefined): ReadonlyMap<string, string> {
  return new Map(webhooks?.data.map(({ id, url }) => [id, url]));
}
