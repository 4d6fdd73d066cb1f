import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Keys } from './key-ring.ts';

const macBytes = 16;

/**
 * Creates an opaque token that carries `payload` and cannot be forged or changed without the key (HMAC-SHA-256, 128
 * bits). It is signed with the current key. It opens only with the same `binding`, which identifies its purpose and
 * owner.
 */
export function signToken([key]: Keys, payload: string, binding: string): string {
  const bytes = Buffer.from(payload, 'utf8');
  return Buffer.concat([macOf(key, bytes, binding), bytes]).toString('base64url');
}

/**
 * Returns the payload, or undefined if the token is malformed, forged, signed with an unknown key or has another
 * binding.
 */
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
