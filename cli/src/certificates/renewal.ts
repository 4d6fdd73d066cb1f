import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Identity } from './certificate.ts';

/** The authority of an installation. */
export interface Authority {
  readonly current: Identity;
  /** Signs nothing yet: everyone is to trust it first. */
  readonly next?: Identity | undefined;
  /** What everyone trusts, PEM: the current one, the next, and the former as long as it is valid. */
  readonly trusted: string;
}

const dayMs = 24 * 60 * 60_000;
export const authorityDays = 3_650;
/** By then every service has read what it is to trust: Kubernetes takes about a minute to bring a changed file. */
const spreadMs = dayMs;

export type MakeAuthority = () => Promise<Identity>;

/**
 * The authority for now, renewed in steps that no connection notices:
 *
 *   none, broken, ended ──► a new one
 *   valid ──less than two lives of a certificate left──► a next one is trusted beside it
 *   next is a day old ──► it signs from now on; the former is trusted until it ends
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

/** Why a certificate is to be issued anew, in one word or two; undefined: it can stay. */
export function whyRenew(
  identity: Identity | undefined,
  authority: Authority,
  { names, days, now }: { names: readonly string[]; days: number; now: Date },
): string | undefined {
  if (!identity) return 'missing';
  if (!isUsable(identity, now)) return 'not usable';
  const certificate = new X509Certificate(identity.cert);
  const signer = new X509Certificate(authority.current.cert);
  if (!certificate.verify(signer.publicKey)) return 'of another authority';
  const wanted = names.map((name) => `DNS:${name}`).join(', ');
  if (certificate.subjectAltName !== wanted) return 'other names';
  return endOf(identity.cert) - now.getTime() < (days * dayMs) / 3 ? 'ends soon' : undefined;
}

/** The moment at which a certificate ends, ms. */
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
