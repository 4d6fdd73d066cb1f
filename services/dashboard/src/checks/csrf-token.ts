import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Refusal } from '../http/refusal.ts';
import type { Session } from '../session/session.ts';

/**
 * Rejects a change without the CSRF token of the session, which only the dashboard's own pages can read. A page that was
 * loaded in an earlier session has the token of that session; it reads the account again, which has the new one.
 */
export function checkCsrfToken({ headers }: IncomingMessage, { csrfToken }: Session): void {
  const sent = Buffer.from(String(headers['x-csrf-token'] ?? ''));
  const wanted = Buffer.from(csrfToken);
  if (sent.length !== wanted.length || !timingSafeEqual(sent, wanted)) throw new Refusal('session_changed');
}
