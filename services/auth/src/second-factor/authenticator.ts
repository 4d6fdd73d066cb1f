import { randomBytes, randomInt } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { hashOfToken } from '../token.ts';

/** The parameters that every authenticator app supports (RFC 6238): SHA-1, six digits, a new code every 30 seconds. */
const form = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
const secretBytes = 20;
/** Allowed clock difference, in periods. */
const drift = 1;
const recoveryCodes = 10;
const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';
const recoveryLength = 16;

/** Generates the secret of an authenticator. */
export function makeSecret(): Buffer {
  return randomBytes(secretBytes);
}

/** Returns the secret in the forms that authenticator apps accept: base32 to type in, and the URI for a QR code. */
export function describeSecret(secret: Buffer, account: string): { secret: string; uri: string } {
  const totp = totpOf(secret, account);
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/**
 * Returns the time step of a code, or undefined if the code is wrong. The caller must accept each step only once.
 * @param afterStep last step that was accepted; this step and earlier ones are rejected
 */
export function stepOfCode(secret: Buffer, code: string, afterStep: number, nowMs: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const delta = totpOf(secret, '').validate({ token: code, timestamp: nowMs, window: drift });
  if (delta === null) return undefined;
  const step = Math.floor(nowMs / 1000 / form.period) + delta;
  return step > afterStep ? step : undefined;
}

/**
 * Generates ten single-use codes of 80 random bits, for example "abcd-efgh-jkmn-pqrs". Only their hashes are stored.
 */
export function makeRecoveryCodes(): { codes: string[]; hashes: Buffer[] } {
  const plain = Array.from({ length: recoveryCodes }, () =>
    Array.from({ length: recoveryLength }, () => alphabet[randomInt(alphabet.length)]).join(''),
  );
  return { codes: plain.map((code) => code.replace(/(.{4})(?!$)/g, '$1-')), hashes: plain.map(hashOfToken) };
}

/** Normalizes a typed code: removes spaces and dashes, and converts it to lower case. */
export function plainCode(typed: string): string {
  return typed.slice(0, 100).replace(/[\s-]/g, '').toLowerCase();
}

function totpOf(secret: Buffer, account: string): TOTP {
  const bytes = new Uint8Array(secret);
  return new TOTP({ ...form, issuer: 'rms', label: account, secret: new Secret({ buffer: bytes.buffer }) });
}
