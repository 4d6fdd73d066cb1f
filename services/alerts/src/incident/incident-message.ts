import { toEnvironmentMessage } from '@rms/base/tenant';
import { IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { type EnumNames, enumNames, timestampFromMs } from '@rms/rpc';
import { kindNames } from '../rule/rule-message.ts';
import type { Incident } from './incident.ts';
import type { StoredIncident } from './incident-queries.ts';

export const incidentStates: EnumNames<Incident['state'], IncidentState> = enumNames(IncidentState);

/** Converts an incident to rms.alerts.v1.Incident. */
export function toIncidentMessage(incident: StoredIncident) {
  return {
    id: incident.id,
    workspaceId: incident.workspaceId,
    environment: toEnvironmentMessage(incident.environment),
    kind: kindNames.toValue(incident.kind),
    subjectId: incident.subjectId,
    state: incidentStates.toValue(incident.state),
    openTime: timestampFromMs(incident.openedAtMs),
    lastNoticeTime: timestampFromMs(incident.lastNoticeAtMs),
    notices: incident.notices,
    value: incident.value,
    worstValue: incident.worstValue,
    threshold: incident.threshold,
    summary: incident.summary,
    object: incident.object,
    acknowledgedBy: incident.acknowledgedBy,
    ...(incident.acknowledgedAtMs === undefined ? {} : { acknowledgeTime: timestampFromMs(incident.acknowledgedAtMs) }),
    ...(incident.mutedUntilMs === undefined ? {} : { muteUntilTime: timestampFromMs(incident.mutedUntilMs) }),
    ...(incident.closedAtMs === undefined ? {} : { closeTime: timestampFromMs(incident.closedAtMs) }),
  };
}
