import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Identity } from '@rms/net/certificates';

/** Certificate authority of an installation. */
export interface Authority {
  readonly current: Identity;
  /** Next authority. It signs nothing until every service trusts it. */
  readonly next?: Identity | undefined;
  /** CA bundle in PEM: the current authority, the next one, and previous ones until they expire. */
  readonly trusted: string;
}

const dayMs = 24 * 60 * 60_000;
export const authorityDays = 3_650;
/** Time for every service to load a new CA bundle. Kubernetes updates a mounted Secret within about a minute. */
const spreadMs = dayMs;

export type MakeAuthority = () => Promise<Identity>;

/**
 * Returns the authority to use. It is renewed in steps, so that connections never fail:
 *
 *   missing, broken or expired ──► create a new authority
 *   valid, less than two certificate lifetimes remain ──► create a next authority and trust both
 *   next authority is a day old ──► it becomes current; the previous one is trusted until it expires
 */
export async function renewAuthority(
  before: Authority | undefined,
  { days, now, make }: { days: number; now: Date; make: MakeAuthority },
): Promise<Authority> {
  if (!before || !isUsable(before.current, now)) {
    const current = await make();
    return { current, trusted: current.cert };
  }
  const { current, next } = before;
  const trusted = (...certs: string[]) =>
    [...new Set([...certs, ...split(before.trusted)])].filter((cert) => endOf(cert) > now.getTime()).join('');
  if (next && isUsable(next, now)) {
    const spread = Date.parse(new X509Certificate(next.cert).validFrom) + spreadMs <= now.getTime();
    return spread
      ? { current: next, trusted: trusted(next.cert) }
      : { ...before, trusted: trusted(current.cert, next.cert) };
  }
  if (endOf(current.cert) - now.getTime() > 2 * days * dayMs) return { current, trusted: trusted(current.cert) };
  const following = await make();
  return { current, next: following, trusted: trusted(current.cert, following.cert) };
}

/** Returns why a certificate must be reissued; undefined if it can be kept. */
export function whyRenew(
  identity: Identity | undefined,
  authority: Authority,
  { names, days, now }: { names: readonly string[]; days: number; now: Date },
): string | undefined {
  if (!identity) return 'missing';
  if (!isUsable(identity, now)) return 'not usable';
  const certificate = new X509Certificate(identity.cert);
  const signer = new X509Certificate(authority.current.cert);
  if (!certificate.verify(signer.publicKey)) return 'signed by another authority';
  const wanted = names.map((name) => `DNS:${name}`).join(', ');
  if (certificate.subjectAltName !== wanted) return 'different DNS names';
  return endOf(identity.cert) - now.getTime() < (days * dayMs) / 3 ? 'expires soon' : undefined;
}

/** Returns a certificate's expiry, in milliseconds since the epoch. */
export function endOf(cert: string): number {
  return Date.parse(new X509Certificate(cert).validTo);
}

function isUsable({ cert, key }: Identity, now: Date): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)) && endOf(cert) > now.getTime();
  } catch {
    return false;
  }
}

function split(pem: string): string[] {
  return (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((cert) => `${cert}\n`);
}
