import type { UseQueryResult } from '@tanstack/react-query';
import type { SpanName, UnfinishedDocument, UsageDocument } from '../../../../src/documents/usage.ts';
import { useTenantQuery } from '../../api/tenant.ts';

const everyMs = 10_000;

/** Queries usage in a time range. Callers with the same range share one query. */
export function useUsage(span?: SpanName): UseQueryResult<UsageDocument> {
  return useTenantQuery('/usage', { search: { span }, everyMs });
}

/** Queries the number of unfinished deliveries. */
export function useUnfinishedDeliveries(): UseQueryResult<UnfinishedDocument> {
  return useTenantQuery('/unfinished-deliveries', { everyMs });
}
