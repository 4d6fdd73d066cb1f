import { type AlertKind, alertRules, severityOf } from '@rms/base/alert-rules';
import { IncidentState, type Incident as Message } from '@rms/proto/rms/alerts/v1/alert_pb';
import { alertKindName } from '../alert-rule/document.ts';
import { presentTimeOf, timeOf } from '../times.ts';
import type { Incident } from './schema.ts';

const subjectTypes: Readonly<Record<AlertKind, Incident['subject']['type']>> = {
  api_error_rate: 'environment',
  delivery_failure_rate: 'webhook',
  delivery_failures_in_a_row: 'webhook',
  webhook_disabled: 'webhook',
  quota: 'quota',
  rate_limited: 'environment',
  key_expiry: 'api_key',
};

const endReasons: Readonly<Partial<Record<IncidentState, Incident['end_reason']>>> = {
  [IncidentState.RECOVERED]: 'recovered',
  [IncidentState.ENDED]: 'obsolete',
};

/** Returns the fields of a list request that select incidents with a status; undefined: with any. */
export function withStatus(status: Incident['status'] | undefined) {
  return { state: status === 'open' ? IncidentState.OPEN : IncidentState.UNSPECIFIED, closed: status === 'closed' };
}

/** Returns the API representation of an incident. */
export function incidentDocument(incident: Message): Incident {
  const { id, subjectId, object, state } = incident;
  const kind = alertKindName(incident.kind);
  return {
    id,
    type: 'incident',
    kind,
    subject: { type: subjectTypes[kind], id: subjectId || null, name: object || null },
    status: state === IncidentState.OPEN ? 'open' : 'closed',
    end_reason: endReasons[state] ?? null,
    severity: severityOf(kind, subjectId),
    value: incident.value,
    worst_value: incident.worstValue,
    threshold: alertRules[kind].threshold ? incident.threshold : null,
    summary: incident.summary,
    notice_count: incident.notices,
    opened_at: presentTimeOf(incident.openTime),
    closed_at: timeOf(incident.closeTime),
    last_notified_at: presentTimeOf(incident.lastNoticeTime),
    acknowledged_at: timeOf(incident.acknowledgeTime),
    acknowledged_by: incident.acknowledgedBy || null,
    muted_until: timeOf(incident.muteUntilTime),
  };
}
