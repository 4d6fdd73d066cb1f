import type { Key } from './key/schema.ts';

/*
 * Rules about documents of the API that pages apply. Without dependencies, because pages import them.
 */

/** Returns whether the API accepts requests with a key: it is active, or its overlap has not ended. */
export function isValidKey({ status, overlap_ends_at: end }: Key): boolean {
  return status === 'active' || (status === 'rolled' && end !== null && Date.parse(end) > Date.now());
}

/** Returns the scope for display; of a restricted key with its permissions. */
export function scopeText({ scope, permissions }: Pick<Key, 'scope' | 'permissions'>): string {
  return scope === 'restricted' ? `${scope}: ${permissions.join(', ')}` : scope;
}
