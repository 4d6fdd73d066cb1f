import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { toKindMessage } from '../rule/rule-message.ts';
import { toEnvironmentMessage } from '../tenant.ts';
import type { Incident } from './incident.ts';
import type { StoredIncident } from './incident-queries.ts';

const states: Readonly<Record<Incident['state'], IncidentState>> = {
  open: IncidentState.OPEN,
  recovered: IncidentState.RECOVERED,
  ended: IncidentState.ENDED,
};

/** Undefined: all. */
export function fromStateMessage(message: IncidentState): Incident['state'] | undefined {
  return (Object.keys(states) as Incident['state'][]).find((state) => states[state] === message);
}

/** An incident as rms.alerts.v1.Incident. */
export function toIncidentMessage(incident: StoredIncident) {
  return {
    id: incident.id,
    workspaceId: incident.workspaceId,
    environment: toEnvironmentMessage(incident.environment),
    kind: toKindMessage(incident.kind),
    subjectId: incident.subjectId,
    state: states[incident.state],
    openTime: timestampFromMs(incident.openedAtMs),
    lastNoticeTime: timestampFromMs(incident.lastNoticeAtMs),
    notices: incident.notices,
    value: incident.value,
    worstValue: incident.worstValue,
    threshold: incident.threshold,
    summary: incident.summary,
    ...(incident.closedAtMs === undefined ? {} : { closeTime: timestampFromMs(incident.closedAtMs) }),
  };
}
