import type { Key } from '@rms/api';
import { useState } from 'react';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Choices of an expiry: days from now, "" for never. */
export const expiryOptions: readonly (readonly [string, string])[] = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
];

/**
 * Returns a function that converts a choice to a time. A repeated request must have the same content, so the time does
 * not depend on when the button is pressed.
 */
export function useExpiryAt(): (days: string) => string | null {
  const [openedAtMs] = useState(() => Math.ceil(Date.now() / hourMs) * hourMs);
  return (days) => (Number(days) > 0 ? new Date(openedAtMs + Number(days) * dayMs).toISOString() : null);
}

/** Returns when the key becomes invalid. null: never. */
export function expiryOf({ expires_at: expires, overlap_ends_at: rolled }: Key): string | null {
  const ends = [expires, rolled].filter((at) => at !== null).sort();
  return ends[0] ?? null;
}
