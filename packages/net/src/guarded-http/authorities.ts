import { rootCertificates } from 'node:tls';

/** Certificate authorities in PEM format. */
export type Authorities = string | readonly string[];

/** Adds the public authorities to those that `additional` returns. The result is the same array until they change. */
export function withPublic(additional: () => string): () => Authorities {
  let known = '';
  let all: Authorities = rootCertificates;
  return () => {
    const now = additional();
    if (now !== known) all = [...rootCertificates, now];
    known = now;
    return all;
  };
}
