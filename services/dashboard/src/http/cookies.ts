import type { IncomingMessage } from 'node:http';

export interface CookieOptions {
  readonly secure: boolean;
  /** Seconds; 0 removes it. */
  readonly maxAgeSeconds: number;
  /** 'Lax': also sent when another site leads here. Default: 'Strict'. */
  readonly sameSite?: 'Lax';
}

/**
 * A cookie of ours: unseen by scripts, and unless told otherwise sent by our own pages only. Over https its name begins with `__Host-`, so that no
 * neighbouring host can set it (RFC 6265bis).
 */
export function setCookie(name: string, value: string, { secure, maxAgeSeconds, sameSite }: CookieOptions): string {
  const attributes = [
    'Path=/',
    'HttpOnly',
    `SameSite=${sameSite ?? 'Strict'}`,
    `Max-Age=${maxAgeSeconds}`,
    ...(secure ? ['Secure'] : []),
  ];
  return [`${cookieName(name, secure)}=${value}`, ...attributes].join('; ');
}

/** The value of a cookie of ours; undefined: it was not sent, or more than once. */
export function readCookie({ headers }: IncomingMessage, name: string, secure: boolean): string | undefined {
  const wanted = `${cookieName(name, secure)}=`;
  const found = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(wanted));
  return found.length === 1 ? found[0]?.slice(wanted.length) : undefined;
}

function cookieName(name: string, secure: boolean): string {
  return secure ? `__Host-${name}` : name;
}
