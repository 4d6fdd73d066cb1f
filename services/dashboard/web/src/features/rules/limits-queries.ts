import type { UseQueryResult } from '@tanstack/react-query';
import type { LimitsDocument } from '../../../../src/documents/limits.ts';
import { useMay, useTenantQuery } from '../../api/tenant.ts';

/** Queries the workspace's limits. Loads nothing in a portal session, which may not read them. */
export function useLimits(): UseQueryResult<LimitsDocument> {
  return useTenantQuery('/limits', { enabled: useMay('workspace:read') });
}
