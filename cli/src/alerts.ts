import { durationMs } from '@bufbuild/protobuf/wkt';
import { AlertKind, type Incident, IncidentState, type Rule } from '@rms/proto/rms/alerts/v1/alert_pb';
import { enumNames } from '@rms/rpc';
import { environmentName, time } from './documents.ts';

export const alertKinds = enumNames(AlertKind);
export const incidentStates = enumNames(IncidentState);

/** A rule as `rms alerts rules` prints it. */
export function ruleDocument(rule: Rule) {
  return {
    environment: environmentName(rule.environment),
    kind: alertKinds.toName(rule.kind) ?? '',
    enabled: rule.enabled,
    threshold: rule.threshold,
    window_seconds: rule.window ? durationMs(rule.window) / 1_000 : null,
    minimum: Number(rule.minimum),
    recipients: rule.recipients,
    to_owners: rule.toOwners,
    unsubscribed: rule.unsubscribed,
    updated_at: time(rule.updateTime),
  };
}

/** An incident as `rms alerts list` prints it. */
export function incidentDocument(incident: Incident) {
  return {
    id: incident.id,
    environment: environmentName(incident.environment),
    kind: alertKinds.toName(incident.kind) ?? '',
    subject_id: incident.subjectId,
    state: incidentStates.toName(incident.state) ?? '',
    summary: incident.summary,
    opened_at: time(incident.openTime),
    closed_at: time(incident.closeTime),
    notices: incident.notices,
    value: incident.value,
    worst_value: incident.worstValue,
    threshold: incident.threshold,
  };
}
