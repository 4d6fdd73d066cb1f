import { durationMs } from '@bufbuild/protobuf/wkt';
import { AlertKind, type Incident, IncidentState, type Rule } from '@rms/proto/rms/alerts/v1/alert_pb';
import { environmentName, time } from './documents.ts';

const kinds = {
  api_error_rate: AlertKind.API_ERROR_RATE,
  delivery_failure_rate: AlertKind.DELIVERY_FAILURE_RATE,
  delivery_failures_in_a_row: AlertKind.DELIVERY_FAILURES_IN_A_ROW,
  webhook_disabled: AlertKind.WEBHOOK_DISABLED,
  quota: AlertKind.QUOTA,
  rate_limited: AlertKind.RATE_LIMITED,
  key_expiry: AlertKind.KEY_EXPIRY,
} as const;

export type AlertKindName = keyof typeof kinds;

export const alertKindNames = Object.keys(kinds) as AlertKindName[];

const states = { open: IncidentState.OPEN, recovered: IncidentState.RECOVERED, ended: IncidentState.ENDED } as const;

export type IncidentStateName = keyof typeof states;

export const incidentStateNames = Object.keys(states) as IncidentStateName[];

export function toAlertKind(name: AlertKindName): AlertKind {
  return kinds[name];
}

export function toIncidentState(name: IncidentStateName): IncidentState {
  return states[name];
}

/** A rule as `rms alerts rules` prints it. */
export function ruleDocument(rule: Rule) {
  return {
    environment: environmentName(rule.environment),
    kind: kindName(rule.kind),
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
    kind: kindName(incident.kind),
    subject_id: incident.subjectId,
    state: incidentStateNames.find((name) => states[name] === incident.state) ?? '',
    summary: incident.summary,
    opened_at: time(incident.openTime),
    closed_at: time(incident.closeTime),
    notices: incident.notices,
    value: incident.value,
    worst_value: incident.worstValue,
    threshold: incident.threshold,
  };
}

function kindName(kind: AlertKind): string {
  return alertKindNames.find((name) => kinds[name] === kind) ?? '';
}
