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
  { allowHttp, allowCidrs }: EgressConfig,
  permitted: (address: string) => boolean,
  resolve: Resolve,
): Promise<{ url: string; violations: FieldViolation[] }> {
  const refuse = (message: string) => ({ url: text, violations: [{ field: 'url', message }] });
  const tooLong = `must have at most ${lengthLimit} characters`;
  if (text.length > lengthLimit) return refuse(tooLong);
  if (!URL.canParse(text)) return refuse('must be an absolute URL');
  // WHATWG normal form: decimal, octal and hexadecimal spellings of an address are dotted decimal afterwards.
  const url = new URL(text);
  url.hash = '';
  if (url.href.length > lengthLimit) return refuse(tooLong);
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:')) return refuse('must be an https URL');
  if (url.username !== '' || url.password !== '') return refuse('must not hold a user name or password');
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const take = (reachable: boolean) =>
    reachable ? { url: url.href, violations: [] } : refuse('must be publicly reachable');
  if (isIP(host) !== 0) return take(permitted(host));
  if (host === 'localhost') return take(permitted('127.0.0.1') || permitted('::1'));
  const isLocal = localName.test(host) || !host.includes('.');
  if (isLocal && allowCidrs.length === 0) return take(false);
  const addresses = await withinLimit(resolve(host));
  // A local name leads into a network that the operator allows, or nowhere.
  return take(addresses.every(permitted) && !(isLocal && addresses.length === 0));
}

/** What is known after half a second; nothing by then is no objection. */
function withinLimit(addresses: Promise<string[]>): Promise<string[]> {
  return new Promise((settle) => {
    const timer = setTimeout(() => settle([]), resolveLimitMs);
    addresses.then(settle, () => settle([])).finally(() => clearTimeout(timer));
  });
}
