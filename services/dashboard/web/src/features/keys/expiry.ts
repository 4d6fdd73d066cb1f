import type { Key } from '@rms/api';

/** Returns when the key becomes invalid. null: never. */
export function expiryOf({ expires_at: expires, overlap_ends_at: rolled }: Key) {
  const ends = [expires, rolled].filter((at) => at !== null).sort();
  return ends[0] ?? null;
}
