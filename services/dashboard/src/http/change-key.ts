import { createHash } from 'node:crypto';
import type { Request } from 'express';

/**
 * Returns the idempotency key of a change: a hash of the Idempotency-Key that the page sent, the user, the path and the
 * body. A page keeps its key until it knows the outcome, and may send another content with it meanwhile. Empty without
 * the header.
 */
export function changeKeyOf({ headers, path }: Request, userId: string, body: unknown): string {
  const given = headers['idempotency-key'];
  if (given === undefined) return '';
  const content = JSON.stringify([given, userId, path, body]);
  return `dashboard-${createHash('sha256').update(content).digest('base64url')}`;
}
