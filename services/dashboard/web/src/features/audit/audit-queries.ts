import type { FieldChange } from '@rms/base/audit-change';
import type { UseQueryResult } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { type Tenant, tenantPath, useTenantQuery } from '../../api/tenant.ts';

export interface AuditEntry {
  readonly id: string;
  readonly time: string | null;
  readonly environment: string | null;
  readonly actor: string;
  /** Name when the action happened, as `target_name`. */
  readonly actor_name: string | null;
  readonly address: string | null;
  readonly request_id: string | null;
  readonly action: string;
  readonly target_id: string;
  readonly target_name: string | null;
  /** Whether the target has a page: an existing key, webhook or resource. */
  readonly target_exists: boolean;
  /** Array of FieldChange. */
  readonly changes_json: string;
  readonly details_json: string;
}

/** Filters of the list, with the names and values of the URL's search parameters. */
export type AuditFilter = Partial<
  Record<'actor' | 'environment' | 'since' | 'until' | 'target' | 'action' | 'cursor', string>
>;

interface AuditPage {
  readonly data: readonly AuditEntry[];
  readonly next: string | null;
}

/** Returns an entry's changes. Entries of earlier releases have no changes. */
export function changesOf({ changes_json: json }: Pick<AuditEntry, 'changes_json'>): readonly FieldChange[] {
  return JSON.parse(json) as readonly FieldChange[];
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
    const path = tenantPath(tenant, '/audit', { ...filter, cursor, per_page: '1000' });
    const page: AuditPage = await call<AuditPage>(path);
    entries.push(...page.data);
    cursor = page.next;
  }
  return { entries, more: cursor !== null };
}

/** Queries an audit log page, newest first. */
export function useAuditEntries(search: AuditFilter): UseQueryResult<AuditPage> {
  return useTenantQuery('/audit', { search });
}
