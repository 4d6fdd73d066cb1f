import { durationMs } from '@bufbuild/protobuf/wkt';
import { AlertKind, type Incident, IncidentState, type Rule } from '@rms/proto/rms/alerts/v1/alert_pb';
import { enumNames } from '@rms/rpc';
import { timeOf } from './text.ts';

export const alertKinds = enumNames(AlertKind);
export type AlertKindName = (typeof alertKinds.names)[number];
const incidentStates = enumNames(IncidentState);

/** When to alert whom; see Rule of rms.alerts.v1 for the unit of the threshold. */
export interface RuleDocument {
  readonly kind: AlertKindName;
  readonly enabled: boolean;
  readonly threshold: number;
  /** null: the kind has none. */
  readonly window_seconds: number | null;
  readonly minimum: number;
  readonly recipients: readonly string[];
  readonly to_owners: boolean;
  readonly unsubscribed: readonly string[];
}

export interface IncidentDocument {
  readonly id: string;
  readonly kind: AlertKindName;
  readonly subject_id: string;
  readonly state: 'open' | 'recovered' | 'ended';
  readonly opened_at: string | null;
  readonly closed_at: string | null;
  readonly notices: number;
  readonly summary: string;
}

export function kindNameOf(kind: AlertKind): AlertKindName {
  const name = alertKinds.toName(kind);
  if (!name) throw new Error(`alerts answered with a kind that is not known here: ${kind}`);
  return name;
}

export function ruleDocument(rule: Rule): RuleDocument {
  return {
    kind: kindNameOf(rule.kind),
    enabled: rule.enabled,
    threshold: rule.threshold,
    window_seconds: rule.window ? durationMs(rule.window) / 1000 : null,
    minimum: Number(rule.minimum),
    recipients: rule.recipients,
    to_owners: rule.toOwners,
    unsubscribed: rule.unsubscribed,
  };
}

export function incidentDocument(incident: Incident): IncidentDocument {
  return {
    id: incident.id,
    kind: kindNameOf(incident.kind),
    subject_id: incident.subjectId,
    state: incidentStates.toName(incident.state) ?? 'ended',
    opened_at: timeOf(incident.openTime),
    closed_at: timeOf(incident.closeTime),
    notices: incident.notices,
    summary: incident.summary,
  };
}
