import type { AlertChannel, AlertRule, Incident } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import type { EmailStatusDocument } from '../../../../src/routes/get-email-status.ts';
import { type List, useTenantQuery } from '../../api/tenant.ts';

export const rulesPath = '/alert_rules';

export function useRules(): UseQueryResult<List<AlertRule>> {
  return useTenantQuery(rulesPath);
}

export const channelsPath = '/alert_channels';

/** An environment has at most 50 channels. */
export function useChannels(): UseQueryResult<List<AlertChannel>> {
  return useTenantQuery(channelsPath, { search: { per_page: '100' } });
}

/** Queries a page of incidents, newest first. */
export function useIncidents(search: {
  readonly status?: string;
  readonly cursor?: string;
}): UseQueryResult<List<Incident>> {
  return useTenantQuery('/incidents', { search });
}

/** Queries the newest open incidents. */
export function useOpenIncidents(enabled: boolean): UseQueryResult<List<Incident>> {
  return useTenantQuery('/incidents', { search: { status: 'open' }, enabled, everyMs: 10_000 });
}

const emailStatusEveryMs = 10_000;

/** Queries the emails that could not be sent yet. */
export function useEmailStatus(enabled: boolean): UseQueryResult<EmailStatusDocument> {
  return useTenantQuery('/email-status', { enabled, everyMs: emailStatusEveryMs });
}
