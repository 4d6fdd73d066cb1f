import { durationMs } from '@bufbuild/protobuf/wkt';
import { alertRules } from '@rms/base/alert-rules';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import { AlertKind, type Incident, IncidentState, type Rule } from '@rms/proto/rms/alerts/v1/alert_pb';
import { type TestEmail, TestEmailState } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { time } from './documents.ts';

export const alertKinds = enumNames(AlertKind);
export const incidentStates = enumNames(IncidentState);

/** Returns an alert rule for the output of `rms alerts rules`. */
export function ruleDocument(rule: Rule) {
  const kind = alertKinds.toName(rule.kind);
  return {
    environment: fromEnvironmentMessage(rule.environment),
    kind: kind ?? '',
    name: kind ? alertRules[kind].name : '',
    description: kind ? alertRules[kind].sentence : '',
    enabled: rule.enabled,
    threshold: rule.threshold,
    window_seconds: rule.window ? durationMs(rule.window) / 1_000 : null,
    minimum: Number(rule.minimum),
    recipients: rule.recipients,
    to_owners: rule.toOwners,
    unsubscribed: rule.unsubscribed,
    unconfirmed: rule.unconfirmed,
    updated_at: time(rule.updateTime),
  };
}

const testEmailStates = enumNames(TestEmailState);

/** Returns a test email for the output of `rms alerts test`. */
export function testEmailDocument({ address, state, reply }: TestEmail) {
  return { address, state: testEmailStates.toName(state) ?? '', reply: reply || null };
}

/** Returns an incident for the output of `rms alerts list`. */
export function incidentDocument(incident: Incident) {
  const kind = alertKinds.toName(incident.kind);
  return {
    id: incident.id,
    environment: fromEnvironmentMessage(incident.environment),
    kind: kind ?? '',
    name: kind ? alertRules[kind].name : '',
    subject_id: incident.subjectId,
    object: incident.object || null,
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
