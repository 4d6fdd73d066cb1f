import type { UseQueryResult } from '@tanstack/react-query';
import { useTenantQuery } from '../../api/tenant.ts';

export interface AuditEntry {
  readonly id: string;
  readonly time: string | null;
  readonly environment: string | null;
  readonly actor: string;
  readonly address: string | null;
  readonly action: string;
  readonly target_id: string;
  readonly details_json: string;
}

/** Queries a page of the audit log, newest first. */
export function useAuditEntries(
  search: Readonly<Record<'target' | 'action' | 'cursor', string | undefined>>,
): UseQueryResult<{ readonly data: readonly AuditEntry[]; readonly next: string | null }> {
  return useTenantQuery('/audit', { search });
}
