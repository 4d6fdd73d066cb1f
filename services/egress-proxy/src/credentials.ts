import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Creates a check for the Proxy-Authorization header (Basic, RFC 7617). It compares in constant time.
 * @param credentials returns "user:password"; if undefined, every caller is authorized
 */
export function createCredentialCheck(
  credentials: (() => string) | undefined,
): (header: string | undefined) => boolean {
  if (credentials === undefined) return () => true;
  return (header = '') => {
    const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
    return timingSafeEqual(digest(Buffer.from(encoded ?? '', 'base64').toString('utf8')), digest(credentials()));
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
