import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Refusal } from '../http/refusal.ts';
import type { Session } from '../session/session.ts';

/** Rejects a change without the CSRF token of the session, which only the dashboard's own pages can read. */
export function checkCsrfToken({ headers }: IncomingMessage, { csrfToken }: Session): void {
  const sent = Buffer.from(String(headers['x-csrf-token'] ?? ''));
  const wanted = Buffer.from(csrfToken);
  if (sent.length !== wanted.length || !timingSafeEqual(sent, wanted)) throw new Refusal('cross_site_request');
}
