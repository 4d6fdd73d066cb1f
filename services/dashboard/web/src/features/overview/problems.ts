import type { FullWebhook, Key } from '@rms/api';
import { expiryOf } from '../keys/expiry.ts';

const expiresSoonMs = 14 * 86_400_000;

/** Returns the webhooks that fail or are paused, those with the most pending deliveries first. */
export function unhealthyOf(webhooks: readonly FullWebhook[]): FullWebhook[] {
  return webhooks
    .filter(({ health: { state } }) => state === 'failing' || state === 'paused')
    .sort((one, other) => other.health.pending - one.health.pending);
}

/** Returns the keys that expire within two weeks, the next one first. */
export function expiringOf(keys: readonly Key[], nowMs: number): Key[] {
  const expiryMs = (key: Key) => Date.parse(expiryOf(key) ?? '9999-12-31');
  return keys
    .filter((key) => expiryMs(key) - nowMs <= expiresSoonMs)
    .sort((one, other) => expiryMs(one) - expiryMs(other));
}
