import type { AuditEntry } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { type Tenant, tenantPath, useTenantQuery } from '../../api/tenant.ts';

/** An entry, and whether its target has a page: an existing key, webhook or resource. */
export type ListedEntry = AuditEntry & { readonly target_exists: boolean };

/** Filters of the list, as the search parameters of the page. */
export type AuditFilter = Partial<
  Record<'actor' | 'environment' | 'since' | 'until' | 'target' | 'action' | 'cursor', string>
>;

interface AuditPage {
  readonly data: readonly ListedEntry[];
  readonly next: string | null;
}

const exportLimit = 10_000;

/** Reads the newest matching entries for an export, at most 10,000. `more` is true if there are others. */
export async function readForExport(
  tenant: Tenant,
  filter: AuditFilter,
): Promise<{ readonly entries: readonly AuditEntry[]; readonly more: boolean }> {
  const entries: AuditEntry[] = [];
  let cursor: string | null = '';
  while (cursor !== null && entries.length < exportLimit) {
    const path = tenantPath(tenant, '/audit_log', { ...searchOf(filter), cursor, per_page: '1000' });
    const page: AuditPage = await call<AuditPage>(path);
    entries.push(...page.data);
    cursor = page.next;
  }
  return { entries, more: cursor !== null };
}

/** Queries a page of the audit log, newest first. */
export function useAuditEntries(filter: AuditFilter): UseQueryResult<AuditPage> {
  return useTenantQuery('/audit_log', { search: searchOf(filter) });
}

function searchOf({ since, until, target, ...others }: AuditFilter) {
  return { ...others, created_after: since, created_before: until, target_id: target };
}
