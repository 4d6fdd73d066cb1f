import type { Key, Webhook } from '@rms/api';
import { expiryOf } from '../keys/expiry.ts';

const expiresSoonMs = 14 * 86_400_000;

/** Returns webhooks in order: those with the most pending deliveries first. */
export function unhealthyOf(webhooks: readonly Webhook[]): Webhook[] {
  return webhooks.toSorted((one, other) => other.health.pending - one.health.pending);
}

/** Returns the keys that expire within two weeks, the next one first. */
export function expiringOf(keys: readonly Key[], nowMs: number): Key[] {
  const expiryMs = (key: Key) => Date.parse(expiryOf(key) ?? '9999-12-31');
  return keys
    .filter((key) => expiryMs(key) - nowMs <= expiresSoonMs)
    .sort((one, other) => expiryMs(one) - expiryMs(other));
}
