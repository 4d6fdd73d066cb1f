import type { DeliveryMetrics, RequestMetrics, Workspace } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import type { UnfinishedDocument } from '../../../../src/routes/get-unfinished-deliveries.ts';
import { useTenantObject, useTenantQuery } from '../../api/tenant.ts';
import type { Range } from './ranges.ts';

const everyMs = 10_000;

export function useRequestMetrics(range: Range): UseQueryResult<RequestMetrics> {
  return useTenantQuery('/metrics/requests', { search: { ...range }, everyMs });
}

export function useDeliveryMetrics(range: Range, groupBy?: 'status_class'): UseQueryResult<DeliveryMetrics> {
  return useTenantQuery('/metrics/deliveries', { search: { ...range, group_by: groupBy }, everyMs });
}

/** Queries the number of unfinished deliveries, and the age of the oldest. */
export function useUnfinishedDeliveries(): UseQueryResult<UnfinishedDocument> {
  return useTenantQuery('/unfinished-deliveries', { everyMs });
}

/** Queries the workspace with its limits and the usage of this month. */
export function useWorkspace(): UseQueryResult<Workspace> {
  return useTenantObject('/workspace', { everyMs });
}
