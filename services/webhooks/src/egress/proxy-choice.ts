import { BlockList, isIP } from 'node:net';
import { parseCidr } from './addresses.ts';
import { hostOf, portOf, type Target } from './guard.ts';

/** The proxy that calls go through by CONNECT. */
export interface EgressProxy {
  readonly protocol: 'http:' | 'https:';
  readonly host: string;
  readonly port: number;
  /** The value of Proxy-Authorization; undefined: none is sent. */
  readonly authorization: string | undefined;
}

/** Which proxy a call goes through; undefined: it is made directly. */
export type ProxyChoice = (target: Target) => EgressProxy | undefined;

/** "http://[user:password@]host[:port]", or "host:port" as HTTPS_PROXY often is. Throws a text that does not repeat it. */
export function parseProxy(text: string): EgressProxy {
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  const { protocol } = url ?? {};
  if (!url || url.hostname === '' || (protocol !== 'http:' && protocol !== 'https:')) {
    throw new Error('is no URL that begins with http:// or https://; "none" is for calls without a proxy');
  }
  // With a "/", "?" or "#" in the password that is not escaped, a part of it would be taken for the host.
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') throw new Error('has more than host and port');
  const { username, password } = url;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    protocol,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (protocol === 'https:' ? 443 : 80)),
    authorization: username || password ? `Basic ${Buffer.from(credentials).toString('base64')}` : undefined,
  };
}

/**
 * Everything goes through the proxy but loopback, which would be the proxy's own, and what `noProxy` lists, as NO_PROXY
 * does: "*", an address, a CIDR, or a name with all below it; each may end in ":port". Throws a text for a person.
 */
export function createProxyChoice(proxy: EgressProxy | undefined, noProxy: readonly string[]): ProxyChoice {
  const exempt = [...noProxy, 'localhost', '127.0.0.0/8', '::1'].map(parseExempt);
  return (target) => {
    if (!proxy) return undefined;
    const host = hostOf(target.hostname);
    const port = portOf(target);
    return exempt.some((fits) => fits(host, port)) ? undefined : proxy;
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
  const [address, bits] = parseCidr(text);
  const network = new BlockList();
  network.addSubnet(address, bits, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return (host) => isIP(host) !== 0 && network.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}

function below(name: string): (host: string) => boolean {
  return (host) => host === name || (name !== '' && host.endsWith(`.${name}`));
}
