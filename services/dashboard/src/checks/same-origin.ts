import type { IncomingMessage } from 'node:http';
import { Refusal } from '../http/refusal.ts';

/**
 * Rejects a change requested by a page of another site. Current browsers send Sec-Fetch-Site or at least Origin. This
 * is the first defense of OWASP's Cross-Site Request Forgery Prevention; the second is checks/csrf-token.ts.
 */
export function checkSameOrigin({ headers }: IncomingMessage, origin: string): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') throw new Refusal('cross_site_request');
  if (headers.origin !== origin) throw new Refusal('cross_site_request');
}
