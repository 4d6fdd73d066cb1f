import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Checks Proxy-Authorization (Basic, RFC 7617) in a time that does not depend on how much of it is right.
 * @param credentials "user:password"; undefined: everybody may
 */
export function createCredentialCheck(credentials: string | undefined): (header: string | undefined) => boolean {
  if (credentials === undefined) return () => true;
  const wanted = digest(credentials);
  return (header = '') => {
    const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
    return timingSafeEqual(digest(Buffer.from(encoded ?? '', 'base64').toString('utf8')), wanted);
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
