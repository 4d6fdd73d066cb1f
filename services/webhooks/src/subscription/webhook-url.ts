import { isIP } from 'node:net';
import type { FieldViolation } from '@rms/errors';
import type { EgressConfig } from '../config.ts';
import type { Resolve } from '../egress/resolve.ts';

const lengthLimit = 2_048;
const resolveLimitMs = 500;
const localName = /(?:^|\.)(?:localhost|local|internal|localdomain|home\.arpa)$/;

/**
 * Checks a webhook's URL when it is set: scheme, length, userinfo, literal and known-local addresses, and the addresses
 * that its name has now. A name that does not resolve (yet) passes: every delivery checks again, on the address it dials.
 */
export async function checkWebhookUrl(
  text: string,
  { allowHttp }: EgressConfig,
  permitted: (address: string) => boolean,
  resolve: Resolve,
): Promise<{ url: string; violations: FieldViolation[] }> {
  const refuse = (message: string) => ({ url: text, violations: [{ field: 'url', message }] });
  if (text.length > lengthLimit) return refuse(`must have at most ${lengthLimit} characters`);
  if (!URL.canParse(text)) return refuse('must be an absolute URL');
  // WHATWG normal form: decimal, octal and hexadecimal spellings of an address are dotted decimal afterwards.
  const url = new URL(text);
  url.hash = '';
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:')) return refuse('must be an https URL');
  if (url.username !== '' || url.password !== '') return refuse('must not hold a user name or password');
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) {
    return permitted(host) ? { url: url.href, violations: [] } : refuse('must be publicly reachable');
  }
  const loopbackAllowed = host === 'localhost' && (permitted('127.0.0.1') || permitted('::1'));
  if (loopbackAllowed) return { url: url.href, violations: [] };
  if (localName.test(host) || !host.includes('.')) return refuse('must be publicly reachable');
  const addresses = await withinLimit(resolve(host));
  return addresses.every(permitted) ? { url: url.href, violations: [] } : refuse('must be publicly reachable');
}

/** What is known after half a second; nothing by then is no objection. */
function withinLimit(addresses: Promise<string[]>): Promise<string[]> {
  return new Promise((settle) => {
    const timer = setTimeout(() => settle([]), resolveLimitMs);
    addresses.then(settle, () => settle([])).finally(() => clearTimeout(timer));
  });
}
