import { isIP } from 'node:net';
import { parseCidrs } from '@rms/base/cidr';
import { type Current, currentOf } from '@rms/runtime/settings';
import { hostOf, portOf, type Target } from './target.ts';

/** The HTTP proxy that calls are tunneled through with CONNECT. */
export interface HttpProxy {
  readonly protocol: 'http:' | 'https:';
  readonly host: string;
  readonly port: number;
  /** The value of Proxy-Authorization; if undefined, the header is not sent. */
  readonly authorization: string | undefined;
}

/** Returns the proxy for a target; undefined if the call is made directly. */
export type ProxyChoice = (target: Target) => HttpProxy | undefined;

/**
 * Parses "http://[user:password@]host[:port]", or "host:port" as is common in HTTPS_PROXY. A thrown error's message
 * does not repeat the text, because it may contain a password.
 */
export function parseProxy(text: string): HttpProxy {
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  const { protocol } = url ?? {};
  if (!url || url.hostname === '' || (protocol !== 'http:' && protocol !== 'https:')) {
    throw new Error('must be a URL that starts with http:// or https://, or "none" to call without a proxy');
  }
  // If the password contains an unescaped "/", "?" or "#", part of it would be parsed as the host.
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw new Error('must not contain more than scheme, credentials, host and port');
  const { username, password } = url;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    protocol,
    host: hostOf(url.hostname),
    port: Number(url.port || (protocol === 'https:' ? 443 : 80)),
    authorization: username || password ? `Basic ${Buffer.from(credentials).toString('base64')}` : undefined,
  };
}

/**
 * Creates a function that sends every call through the proxy, except calls to loopback, which would reach the proxy's
 * own host, and calls to destinations in `noProxy`. Entries have the syntax of NO_PROXY: "*", an address, a CIDR, or a
 * domain including its subdomains, each optionally with ":port". Throws an error with a message for the operator.
 */
export function createProxyChoice(proxy: Current<HttpProxy> | undefined, noProxy: readonly string[]): ProxyChoice {
  const exempt = [...noProxy, 'localhost', '127.0.0.0/8', '::1'].map(parseExempt);
  return (target) => {
    if (!proxy) return undefined;
    const host = hostOf(target.hostname);
    const port = portOf(target);
    return exempt.some((fits) => fits(host, port)) ? undefined : currentOf(proxy);
  };
}

function parseExempt(text: string): (host: string, port: string) => boolean {
  const port = /^(?:\[.+\]|[^:]+):(\d+)$/.exec(text)?.[1];
  const host = port === undefined ? text : text.slice(0, -port.length - 1);
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  const fits = name === '*' ? () => true : (networkOf(name) ?? below(name.replace(/^\*?\./, '')));
  return (toHost, toPort) => (port === undefined || port === toPort) && fits(toHost);
}

function networkOf(text: string): ((host: string) => boolean) | undefined {
  if (isIP(text.split('/')[0] ?? '') === 0) return undefined;
  const network = parseCidrs([text]);
  return (host) => isIP(host) !== 0 && network.has(host);
}

function below(name: string): (host: string) => boolean {
  return (host) => host === name || (name !== '' && host.endsWith(`.${name}`));
}
