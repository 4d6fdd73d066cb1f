import type { NewOperationalEvent } from '@rms/postgres/operational-events';
import type { IncidentNotice, StoredIncident } from '../incident/incident-queries.ts';
import type { Facts } from './observe.ts';

const origin = { actor: '', requestId: '' };

/** Returns the operational events of incidents that open: about the quota and about expiring keys. */
export function incidentEvents(
  notices: readonly Pick<IncidentNotice, 'incident' | 'notice'>[],
  facts: Pick<Facts, 'month' | 'expiringKeys'>,
  nowMs: number,
): NewOperationalEvent[] {
  return notices.flatMap(({ incident, notice }): NewOperationalEvent[] => {
    const { kind, workspaceId, environment, subjectId } = incident;
    if (notice !== 'opened') return [];
    if (kind === 'quota') {
      const type = subjectId === 'exceeded' ? 'quota.exceeded' : 'quota.warning';
      const object = workspaceOf(incident, facts, nowMs);
      return [{ type, workspaceId, environment, subjectId: workspaceId, object, origin }];
    }
    if (kind !== 'key_expiry') return [];
    const object = facts.expiringKeys.find(({ keyId }) => keyId === subjectId)?.document;
    return object ? [{ type: 'api_key.expiring', workspaceId, environment, subjectId, object, origin }] : [];
  });
}

/** Returns quota and usage in the form of GET /v1/workspace. */
function workspaceOf({ workspaceId, environment }: StoredIncident, { month }: Pick<Facts, 'month'>, nowMs: number) {
  const now = new Date(nowMs);
  const startOf = (months: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months)).toISOString();
  return {
    id: workspaceId,
    type: 'workspace',
    environment,
    limits: { requests_per_month: month.quota },
    usage: { requests: month.used, month_start: startOf(0), month_end: startOf(1) },
  };
}
