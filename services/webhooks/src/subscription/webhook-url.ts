import { isIP } from 'node:net';
import type { FieldViolation } from '@rms/errors';
import type { Egress } from '../egress/egress.ts';
import { hostOf, isLocalName, type Refusal } from '../egress/guard.ts';

const lengthLimit = 2_048;
const resolveLimitMs = 500;
const notReachable = 'must be publicly reachable';

const messages: Record<Refusal, string> = {
  scheme: 'must be an https URL',
  userinfo: 'must not hold a user name or password',
  port: 'must have port 443, 80 or one from 1024 on that no other well-known service has',
  'local name': notReachable,
  address: notReachable,
};

/**
 * Checks a webhook's URL when it is set: scheme, length, userinfo, port, literal and known-local addresses, and the
 * addresses that its name has now. A name that does not resolve (yet, or not here but at an egress proxy) passes: every
 * delivery checks again, on the address it dials.
 */
export async function checkWebhookUrl(
  text: string,
  { guard, resolve, proxyFor }: Egress,
): Promise<{ url: string; violations: FieldViolation[] }> {
  const refuse = (message: string) => ({ url: text, violations: [{ field: 'url', message }] });
  const tooLong = `must have at most ${lengthLimit} characters`;
  if (text.length > lengthLimit) return refuse(tooLong);
  if (!URL.canParse(text)) return refuse('must be an absolute URL');
  // WHATWG normal form: decimal, octal and hexadecimal spellings of an address are dotted decimal afterwards.
  const url = new URL(text);
  url.hash = '';
  if (url.href.length > lengthLimit) return refuse(tooLong);
  const refusal = guard.refusal(url);
  if (refusal) return refuse(messages[refusal]);
  const accepted = { url: url.href, violations: [] };
  const host = hostOf(url.hostname);
  if (isIP(host) !== 0 || host === 'localhost') return accepted;
  const addresses = await withinLimit(resolve(host));
  if (!addresses.every(guard.permitted)) return refuse(notReachable);
  // A local name leads into a network that the operator allows, or nowhere; an egress proxy may know more.
  const leadsNowhere = isLocalName(host) && addresses.length === 0 && !proxyFor(url);
  return leadsNowhere ? refuse(notReachable) : accepted;
}

/** What is known after half a second; nothing by then is no objection. */
function withinLimit(addresses: Promise<string[]>): Promise<string[]> {
  return new Promise((settle) => {
    const timer = setTimeout(() => settle([]), resolveLimitMs);
    addresses.then(settle, () => settle([])).finally(() => clearTimeout(timer));
  });
}
