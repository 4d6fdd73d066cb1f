import type { UseQueryResult } from '@tanstack/react-query';
import type { LimitsDocument } from '../../../../src/documents/limits.ts';
import { useTenantQuery } from '../../api/tenant.ts';

/** Queries the workspace's limits. */
export function useLimits(): UseQueryResult<LimitsDocument> {
  return useTenantQuery('/limits');
}
