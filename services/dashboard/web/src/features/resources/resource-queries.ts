import type { FullResource, Resource } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ResourceEventDocument } from '../../../../src/documents/resource-event.ts';
import { type List, useTenantObject, useTenantQuery } from '../../api/tenant.ts';

const perPage = '50';

export interface ResourceEventList {
  readonly data: readonly ResourceEventDocument[];
  readonly next: string | null;
}

export function useResource(id: string): UseQueryResult<FullResource> {
  return useTenantObject(`/resources/${id}`, { search: { input_type: 'true' } });
}

/**
 * Queries a page of resources. They are not counted if the list is filtered by name or metadata ("key=value").
 */
export function useResources({
  name,
  metadata,
  sort,
  ...search
}: Readonly<Record<'status' | 'sort' | 'name' | 'metadata' | 'cursor', string | undefined>>): UseQueryResult<
  List<Resource>
> {
  const [key = '', ...value] = metadata?.split('=') ?? [];
  return useTenantQuery('/resources', {
    search: {
      ...search,
      name_prefix: name,
      per_page: perPage,
      ...(metadata ? { [`metadata[${key}]`]: value.join('='), sort: sortByMetadata(sort) } : { sort }),
    },
  });
}

/** Returns the order of a list by metadata, which can only be sorted by creation. */
export function sortByMetadata(sort: string | undefined): string {
  return sort === 'created_at' ? sort : '-created_at';
}

/** Queries the number of resources. */
export function useResourceTotal(everyMs: number): UseQueryResult<number> {
  return useTenantQuery<List<Resource>, number>('/resources', {
    search: { per_page: '1' },
    everyMs,
    select: ({ meta }) => meta.total ?? 0,
  });
}

/** Queries a page with a resource's events, newest first. `id`: undefined for no query. */
export function useResourceEvents(
  id: string | undefined,
  cursor: string | undefined,
): UseQueryResult<ResourceEventList> {
  return useTenantQuery(`/resources/${encodeURIComponent(id ?? '')}/events`, {
    search: { cursor },
    enabled: id !== undefined,
  });
}
