import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** Certificate and its private key, both PEM. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const keyPem = 'PRIVATE KEY';
const dayMs = 24 * 60 * 60_000;
/** Backdates certificates, so that hosts with slow clocks accept them. */
const startsBeforeMs = 5 * 60_000;

/** Creates a certificate authority. */
export async function makeAuthority(commonName: string, { days, now }: { days: number; now: Date }): Promise<Identity> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    // Authorities may share a name. Their serial numbers and key identifiers differ.
    name: [{ CN: [commonName] }],
    ...validity(days, now),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
    ],
  });
  return identity(certificate, keys.privateKey);
}

/** Issues a certificate for a server and client. `names` are its alternative names: host names and IP addresses. */
export async function issue(
  authority: Identity,
  { commonName, names }: { readonly commonName: string; readonly names: readonly string[] },
  { days, now }: { days: number; now: Date },
): Promise<Identity> {
  const signer = new X509Certificate(authority.cert);
  const keys = await newKeys();
  const extensions: Extension[] = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
    ...(names.length > 0 ? [new SubjectAlternativeNameExtension(names.map(alternativeName))] : []),
    await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
    await AuthorityKeyIdentifierExtension.create(signer, false, webcrypto),
  ];
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: [commonName] }],
    issuer: signer.subject,
    ...validity(days, now),
    publicKey: keys.publicKey,
    signingKey: await privateKey(authority.key),
    signingAlgorithm: algorithm,
    extensions,
  });
  return identity(certificate, keys.privateKey);
}

function alternativeName(value: string): { type: 'dns' | 'ip'; value: string } {
  return { type: isIP(value) ? 'ip' : 'dns', value };
}

function newKeys() {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function privateKey(pem: string) {
  return webcrypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(pem), algorithm, false, ['sign']);
}

function validity(days: number, now: Date) {
  return {
    notBefore: new Date(now.getTime() - startsBeforeMs),
    notAfter: new Date(now.getTime() + days * dayMs),
  };
}

async function identity(certificate: X509Certificate, key: webcrypto.CryptoKey): Promise<Identity> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', key);
  return { cert: `${certificate.toString('pem')}\n`, key: `${PemConverter.encode(pkcs8, keyPem)}\n` };
}
