import type { IncomingMessage } from 'node:http';
import { Refusal } from '../http/refusal.ts';

/**
 * Refuses a change that another site's page asks for. Every browser of today says where a request comes from, by
 * Sec-Fetch-Site or at least by Origin; one that says neither is none of our pages. (OWASP, Cross-Site Request Forgery
 * Prevention: the first line; the second is the token, checks/csrf-token.ts.)
 */
export function checkSameOrigin({ headers }: IncomingMessage, origin: string): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') throw new Refusal('cross_site_request');
  if (headers.origin !== origin) throw new Refusal('cross_site_request');
}
