import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Keys } from './key-ring.ts';

const macBytes = 16;

/**
 * An opaque token that carries `payload` and can't be made or changed without the key (HMAC-SHA-256, 128 bits), which is
 * the current one. It opens with the same `binding` only: what the token is for, and whose it is.
 */
export function signToken([key]: Keys, payload: string, binding: string): string {
  const bytes = Buffer.from(payload, 'utf8');
  return Buffer.concat([macOf(key, bytes, binding), bytes]).toString('base64url');
}

/** The payload, or undefined if the token is broken, forged, of none of the keys, or bound to something else. */
export function openToken(keys: Keys, token: string, binding: string): string | undefined {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length < macBytes || bytes.toString('base64url') !== token) return undefined;
  const payload = bytes.subarray(macBytes);
  const mac = bytes.subarray(0, macBytes);
  return keys.some((key) => timingSafeEqual(mac, macOf(key, payload, binding))) ? payload.toString('utf8') : undefined;
}

function macOf(key: Buffer, payload: Buffer, binding: string): Buffer {
  const bound = Buffer.from(binding, 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bound.length);
  return createHmac('sha256', key).update(length).update(bound).update(payload).digest().subarray(0, macBytes);
}
