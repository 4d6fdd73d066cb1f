import type { UseQueryResult } from '@tanstack/react-query';
import type { EmailStatusDocument, IncidentDocument, RuleDocument } from '../../../../src/documents/alert.ts';
import { useTenantQuery } from '../../api/tenant.ts';

export const rulesPath = '/alerts/rules';

export interface RuleList {
  readonly data: readonly RuleDocument[];
}

export interface IncidentList {
  readonly data: readonly IncidentDocument[];
  readonly next: string | null;
}

export function useRules(): UseQueryResult<RuleList> {
  return useTenantQuery(rulesPath);
}

/** Queries a page of incidents, newest first. */
export function useIncidents(cursor: string | undefined): UseQueryResult<IncidentList> {
  return useTenantQuery('/alerts/incidents', { search: { cursor } });
}

const emailStatusEveryMs = 10_000;

/** Queries the emails that could not be sent yet. */
export function useEmailStatus(enabled: boolean): UseQueryResult<EmailStatusDocument> {
  return useTenantQuery('/email-status', { enabled, everyMs: emailStatusEveryMs });
}
