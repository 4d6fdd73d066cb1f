import type { UseQueryResult } from '@tanstack/react-query';
import type { KeyDocument } from '../../../../src/documents/key.ts';
import { useTenantQuery } from '../../api/tenant.ts';

export interface KeyList {
  readonly data: readonly KeyDocument[];
  readonly next: string | null;
}

export function useKey(id: string): UseQueryResult<KeyDocument> {
  return useTenantQuery(`/keys/${id}`);
}

/** Queries a page of keys. `show`: "all" includes keys that are no longer valid. */
export function useKeys(
  search: { readonly show?: string | undefined; readonly cursor?: string | undefined },
  enabled = true,
): UseQueryResult<KeyList> {
  return useTenantQuery('/keys', { search, enabled });
}

/** Queries the most recent keys that have their own rate limit. */
export function useKeysWithOwnLimit(): UseQueryResult<KeyList> {
  return useTenantQuery('/keys', { search: { with: 'own_limit' } });
}
