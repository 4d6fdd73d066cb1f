import { type Identity, issue, makeAuthority } from '@rms/net/certificates';
import { type Authority, authorityDays, endOf, renewAuthority, whyRenew } from './renewal.ts';
import { type Secret, type SecretStore, WrittenMeanwhile } from './secrets.ts';

export interface RenewOptions {
  /** Name of the authority's Secret. The authority's private key is stored only there. */
  readonly authority: string;
  /** Name of each certificate's Secret, and the certificate's DNS names. */
  readonly certificates: readonly { readonly secret: string; readonly names: readonly string[] }[];
  /** Validity of a certificate. It is renewed when less than a third remains. */
  readonly days: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly now?: Date;
}

/** Result for one Secret. */
export interface Renewed {
  readonly secret: string;
  /** Reason for issuing a new certificate. Undefined if the certificate was kept. */
  readonly reason: string | undefined;
  /** Expiry of the certificate. */
  readonly validTo: Date;
}

const attempts = 5;

/**
 * Creates the authority and certificates that are missing, and renews those that expire soon. Concurrent runs are safe:
 * a run that loses a write conflict starts again.
 */
export async function renewCertificates(store: SecretStore, options: RenewOptions): Promise<Renewed[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await renewOnce(store, options);
    } catch (error) {
      if (!(error instanceof WrittenMeanwhile) || attempt === attempts) throw error;
    }
  }
}

async function renewOnce(store: SecretStore, options: RenewOptions): Promise<Renewed[]> {
  const { days, labels, now = new Date() } = options;
  const stored = await store.read(options.authority);
  const authority = await renewAuthority(authorityIn(stored), {
    ...{ days, now },
    make: () => makeAuthority(options.authority, { days: authorityDays, now }),
  });
  const write = async (secret: Secret | undefined, name: string, data: Readonly<Record<string, string>>) => {
    if (!sameData(secret?.data, data)) await store.write({ name, data, version: secret?.version }, labels);
  };
  // The authority is stored before it signs anything, so that every issued certificate can be trusted and renewed.
  await write(stored, options.authority, dataOf(authority));
  const renewed: Renewed[] = [];
  for (const { secret: name, names } of options.certificates) {
    const secret = await store.read(name);
    const before = identityIn(secret, 'tls');
    const reason = whyRenew(before, authority, { names, days, now });
    const identity =
      before && reason === undefined
        ? before
        : await issue(authority.current, { commonName: names[0] ?? '', names }, { days, now });
    await write(secret, name, { 'tls.crt': identity.cert, 'tls.key': identity.key, 'ca.crt': authority.trusted });
    renewed.push({ secret: name, reason, validTo: new Date(endOf(identity.cert)) });
  }
  return renewed;
}

function authorityIn(secret: Secret | undefined): Authority | undefined {
  const current = identityIn(secret, 'tls');
  if (!current) return undefined;
  return { current, next: identityIn(secret, 'next'), trusted: secret?.data['ca.crt'] ?? '' };
}

function dataOf({ current, next, trusted }: Authority): Record<string, string> {
  return {
    ...{ 'tls.crt': current.cert, 'tls.key': current.key, 'ca.crt': trusted },
    ...(next ? { 'next.crt': next.cert, 'next.key': next.key } : {}),
  };
}

function identityIn(secret: Secret | undefined, name: 'tls' | 'next'): Identity | undefined {
  const [cert, key] = [secret?.data[`${name}.crt`], secret?.data[`${name}.key`]];
  return cert && key ? { cert, key } : undefined;
}

function sameData(before: Readonly<Record<string, string>> | undefined, after: Readonly<Record<string, string>>) {
  if (!before) return false;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].every((name) => before[name] === after[name]);
}
