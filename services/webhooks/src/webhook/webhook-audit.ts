import { X509Certificate } from 'node:crypto';
import {
  type AuditedAction,
  type AuditedFields,
  changesBetween,
  type FieldChanges,
  type NewAuditEntry,
} from '@rms/postgres/audit';
import { redactLine } from '@rms/runtime/logging';
import type { Webhook } from './webhook.ts';

const fields: AuditedFields<Webhook> = {
  workspaceId: 'omitted',
  environment: 'omitted',
  id: 'omitted',
  url: 'shown',
  events: 'shown',
  status: 'shown',
  disableReason: 'shown',
  pausedAt: 'omitted',
  secretSealed: { secret: 'secret' },
  secretVersion: 'omitted',
  previousSecretSealed: 'omitted',
  previousSecretUntil: 'shown',
  clientCertificate: (pem) => pem && `SHA-256 ${new X509Certificate(pem).fingerprint256}`,
  clientKeySealed: { secret: 'client_key' },
  ordered: 'shown',
  description: 'shown',
  retryPolicy: ({ maxRetries, initialDelayMs, maxDelayMs, delaysMs }) => ({
    max_retries: maxRetries,
    initial_delay_ms: initialDelayMs,
    max_delay_ms: maxDelayMs,
    delays_ms: delaysMs,
  }),
  rateLimit: ({ maxConcurrency, requestsPerSecond }) => ({
    max_concurrency: maxConcurrency,
    requests_per_second: requestsPerSecond,
  }),
  headers: 'shown',
  secretHeaders: 'shown',
  secretHeadersSealed: { secret: 'secret_header_values' },
  filter: (filter) => filter && JSON.stringify(filter),
  timeoutMs: 'shown',
  signatureAlias: 'shown',
  createdAt: 'omitted',
  updatedAt: 'omitted',
};

/** Returns the changes between two locked or written states of a webhook. */
export function webhookChanges(before: Webhook | undefined, after: Webhook | undefined): FieldChanges {
  return changesBetween(fields, before, after);
}

/** Returns the audit entry of an action on a webhook. */
export function webhookEntry(webhook: Webhook, action: AuditedAction): NewAuditEntry {
  const { workspaceId, environment, id } = webhook;
  return { workspaceId, environment, target: { id, name: nameOf(webhook) }, ...action };
}

/** Returns a webhook's name: its description, otherwise its URL without credentials. */
export function nameOf({ description, url }: Pick<Webhook, 'description' | 'url'>): string {
  return description.trim() || redactLine(url);
}
