import { isIP } from 'node:net';
import { waitAtMost } from '@rms/async';
import type { FieldViolation } from '@rms/base/errors';
import { hostOf } from '../dial/index.ts';
import { isLocalName, type Refusal } from '../egress/index.ts';
import type { Egress } from './egress.ts';

const lengthLimit = 2_048;
const resolveLimitMs = 500;

/** Returns the messages for the rules of an installation. */
function messagesOf({ allowsHttp, allowsPrivate }: Egress): Record<Refusal, string> {
  const notReachable = allowsPrivate
    ? 'must be publicly reachable, or in a network that this installation permits'
    : 'must be publicly reachable, not a local name or a private address';
  return {
    scheme: allowsHttp ? 'must be an http or https URL' : 'must be an https URL',
    userinfo: 'must not contain a user name or password',
    port: 'must have port 443 or 80, or a port from 1024 that is not reserved for another well-known service',
    'local name': notReachable,
    address: notReachable,
  };
}

/**
 * Validates a webhook's or alert channel's URL when it is set: scheme, length, userinfo, port, IP literals, local
 * names, and the addresses that the name currently resolves to. A name that does not resolve is accepted, because it
 * may resolve later or only at an egress proxy. Every delivery checks the dialed address again.
 */
export async function checkUrl(text: string, egress: Egress): Promise<{ url: string; violations: FieldViolation[] }> {
  const { guard, resolve, proxyFor } = egress;
  const messages = messagesOf(egress);
  const refuse = (message: string) => ({ url: text, violations: [{ field: 'url', message }] });
  const tooLong = `must have at most ${lengthLimit} characters`;
  if (text.length > lengthLimit) return refuse(tooLong);
  if (!URL.canParse(text)) return refuse('must be an absolute URL, for example https://example.com/hooks');
  // WHATWG normalization converts decimal, octal and hexadecimal IPv4 addresses to dotted decimal.
  const url = new URL(text);
  url.hash = '';
  if (url.href.length > lengthLimit) return refuse(tooLong);
  const refusal = guard.refusal(url);
  if (refusal) return refuse(messages[refusal]);
  const accepted = { url: url.href, violations: [] };
  const host = hostOf(url.hostname);
  if (isIP(host) !== 0 || host === 'localhost') return accepted;
  // Addresses that are not known in time are not checked here.
  const addresses: string[] = [];
  const answers = resolve(host).map((answer) => answer.then((found) => addresses.push(...found)));
  await waitAtMost(Promise.allSettled(answers), resolveLimitMs);
  if (!addresses.every(guard.permitted)) return refuse(messages.address);
  // A local name must resolve into a network that the operator allows. An egress proxy may resolve names that we
  // cannot.
  const leadsNowhere = isLocalName(host) && addresses.length === 0 && !proxyFor(url);
  return leadsNowhere ? refuse(messages['local name']) : accepted;
}
