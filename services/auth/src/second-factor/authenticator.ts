import { randomBytes, randomInt } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { hashOfToken } from '../token.ts';

/** What every authenticator takes for granted (RFC 6238): six digits by SHA-1, another code every 30 seconds. */
const form = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
const secretBytes = 20;
/** Clocks may differ by so many periods. */
const drift = 1;
const recoveryCodes = 10;
const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';
const recoveryLength = 16;

/** A new secret of an authenticator. */
export function makeSecret(): Buffer {
  return randomBytes(secretBytes);
}

/** How a person gives it to an authenticator: typed in, and as a QR code. */
export function describeSecret(secret: Buffer, account: string): { secret: string; uri: string } {
  const totp = totpOf(secret, account);
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/**
 * The time step of which the code is, or undefined if it is none of now: the caller takes each step once only.
 * @param afterStep none up to this one is taken
 */
export function stepOfCode(secret: Buffer, code: string, afterStep: number, nowMs = Date.now()): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const delta = totpOf(secret, '').validate({ token: code, timestamp: nowMs, window: drift });
  if (delta === null) return undefined;
  const step = Math.floor(nowMs / 1000 / form.period) + delta;
  return step > afterStep ? step : undefined;
}

/** Ten codes of 80 random bits, each for one use: "abcd-efgh-jkmn-pqrs". What is stored are their hashes. */
export function makeRecoveryCodes(): { codes: string[]; hashes: Buffer[] } {
  const plain = Array.from({ length: recoveryCodes }, () =>
    Array.from({ length: recoveryLength }, () => alphabet[randomInt(alphabet.length)]).join(''),
  );
  return { codes: plain.map((code) => code.replace(/(.{4})(?!$)/g, '$1-')), hashes: plain.map(hashOfToken) };
}

/** What somebody has typed, without the spaces and dashes. */
export function plainCode(typed: string): string {
  return typed.slice(0, 100).replace(/[\s-]/g, '').toLowerCase();
}

function totpOf(secret: Buffer, account: string): TOTP {
  const bytes = new Uint8Array(secret);
  return new TOTP({ ...form, issuer: 'rms', label: account, secret: new Secret({ buffer: bytes.buffer }) });
}
