import { createHash } from 'node:crypto';
import type { Request } from 'express';

/** Returns the Idempotency-Key that the page sent. Empty without the header. */
export function sentKeyOf({ headers }: Request): string {
  return String(headers['idempotency-key'] ?? '');
}

/**
 * Returns the idempotency key of a change: a hash over the Idempotency-Key that the page sent, the user, the path and
 * the body. A page keeps its key until it knows the outcome, and may send another content with it until then. Empty if
 * `sent` is empty.
 */
export function changeKeyOf({ path }: Request, sent: string, userId: string, body: unknown): string {
  if (sent === '') return '';
  const content = JSON.stringify([sent, userId, path, body]);
  return `dashboard-${createHash('sha256').update(content).digest('base64url')}`;
}
