import type { IncomingMessage } from 'node:http';
import { baseUrlOf, clientOf } from '@rms/net/http';
import type { DashboardConfig } from '../config.ts';

type OriginConfig = Pick<DashboardConfig, 'publicUrl' | 'trustedProxies'>;

/** Returns the dashboard pages' origin, e.g. "https://dashboard.example.com". */
export function ownOrigin(request: IncomingMessage, { publicUrl, trustedProxies }: OriginConfig): string {
  return new URL(publicUrl ?? baseUrlOf(request, clientOf(request, trustedProxies))).origin;
}

/** Returns the scope of cookies. They are secure if the browser uses HTTPS, directly or through a trusted proxy. */
export function cookieScope(request: IncomingMessage, config: OriginConfig): CookieScope {
  const { publicUrl, trustedProxies } = config;
  const secure = publicUrl?.startsWith('https:') === true || clientOf(request, trustedProxies).usesHttps;
  return { secure, port: new URL(ownOrigin(request, config)).port };
}

/** Text that distinguishes the cookies of this dashboard from others in the browser. */
interface CookieScope {
  readonly secure: boolean;
  /** Port in the pages' URL; empty: the default port. Browsers send cookies to all ports of a host. */
  readonly port: string;
}

interface CookieOptions extends CookieScope {
  /** Lifetime in seconds. 0 removes the cookie. */
  readonly maxAgeSeconds: number;
  /** 'Lax': also sent when a link on another site leads here. Default: 'Strict'. */
  readonly sameSite?: 'Lax';
}

/**
 * Formats a Set-Cookie header. Cookies are HttpOnly and by default SameSite=Strict. Over HTTPS, the name starts with
 * `__Host-`, so that no sibling domain can set the cookie (RFC 6265bis).
 */
export function setCookie(name: string, value: string, { maxAgeSeconds, sameSite, ...scope }: CookieOptions): string {
  const attributes = [
    'Path=/',
    'HttpOnly',
    `SameSite=${sameSite ?? 'Strict'}`,
    `Max-Age=${maxAgeSeconds}`,
    ...(scope.secure ? ['Secure'] : []),
  ];
  return [`${cookieName(name, scope)}=${value}`, ...attributes].join('; ');
}

/** Returns a cookie's value. Undefined if it was sent zero or more than once. */
export function readCookie({ headers }: IncomingMessage, name: string, scope: CookieScope): string | undefined {
  const wanted = `${cookieName(name, scope)}=`;
  const found = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(wanted));
  return found.length === 1 ? found[0]?.slice(wanted.length) : undefined;
}

function cookieName(name: string, { secure, port }: CookieScope): string {
  return `${secure ? '__Host-' : ''}${name}${port === '' ? '' : `_${port}`}`;
}
