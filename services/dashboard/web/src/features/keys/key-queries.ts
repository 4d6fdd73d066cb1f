import type { FullKey, Key } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import { type List, useTenantObject, useTenantQuery } from '../../api/tenant.ts';

const perPage = '100';

export function useKey(id: string): UseQueryResult<FullKey> {
  return useTenantObject(`/api_keys/${id}`);
}

/** Queries a page of keys. `show`: "all" includes keys that are no longer valid. */
export function useKeys(
  { show, cursor }: { readonly show?: string | undefined; readonly cursor?: string | undefined },
  enabled = true,
): UseQueryResult<List<Key>> {
  const search = { valid: show === 'all' ? undefined : 'true', cursor, per_page: perPage };
  return useTenantQuery('/api_keys', { search, enabled });
}

/** Queries the most recent valid keys that have their own rate limit. */
export function useKeysWithOwnLimit(): UseQueryResult<List<Key>> {
  return useTenantQuery('/api_keys', { search: { valid: 'true', own_limit: 'true', per_page: perPage } });
}
