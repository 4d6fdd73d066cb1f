import type { UseQueryResult } from '@tanstack/react-query';
import type { ResourceDocument } from '../../../../src/documents/resource.ts';
import type { ResourceEventDocument } from '../../../../src/documents/resource-event.ts';
import { useTenantQuery } from '../../api/tenant.ts';

export interface ResourceList {
  readonly data: readonly ResourceDocument[];
  /** null: not counted, because the list is filtered by name. */
  readonly total: number | null;
  readonly next: string | null;
  readonly previous: string | null;
}

export interface ResourceEventList {
  readonly data: readonly ResourceEventDocument[];
  readonly next: string | null;
}

export function useResource(id: string): UseQueryResult<ResourceDocument> {
  return useTenantQuery(`/resources/${id}`);
}

/** Queries a page of resources. */
export function useResources(
  search: Readonly<Record<'status' | 'sort' | 'name' | 'cursor', string | undefined>>,
): UseQueryResult<ResourceList> {
  return useTenantQuery('/resources', { search });
}

/** Queries the number of resources. */
export function useResourceTotal(everyMs: number): UseQueryResult<{ readonly total: number }> {
  return useTenantQuery('/resources', { everyMs });
}

/** Queries a page with a resource's events, newest first. */
export function useResourceEvents(id: string, cursor: string | undefined): UseQueryResult<ResourceEventList> {
  return useTenantQuery(`/resources/${id}/events`, { search: { cursor } });
}
