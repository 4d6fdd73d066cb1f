import { durationMs } from '@bufbuild/protobuf/wkt';
import { AlertKind, type Incident, IncidentState, type Rule } from '@rms/proto/rms/alerts/v1/alert_pb';
import {
  type GetEmailStatusResponse,
  type TestEmail,
  TestEmailState,
} from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { enumNames } from '@rms/rpc';
import { timeOf } from './text.ts';

export const alertKinds = enumNames(AlertKind);
export type AlertKindName = (typeof alertKinds.names)[number];
const incidentStates = enumNames(IncidentState);

/** Alert rule. See `Rule` in rms.alerts.v1 for the threshold's unit. */
export interface RuleDocument {
  readonly kind: AlertKindName;
  readonly enabled: boolean;
  readonly threshold: number;
  /** null: this kind has no window. */
  readonly window_seconds: number | null;
  readonly minimum: number;
  readonly recipients: readonly string[];
  readonly to_owners: boolean;
  readonly unsubscribed: readonly string[];
  /** Recipients outside the workspace that have not confirmed. */
  readonly unconfirmed: readonly string[];
}

export interface IncidentDocument {
  readonly id: string;
  readonly kind: AlertKindName;
  readonly subject_id: string;
  /** URL of the webhook or name of the key. Empty if the subject is the environment, or unknown. */
  readonly object: string;
  readonly state: 'open' | 'recovered' | 'ended';
  readonly opened_at: string | null;
  readonly closed_at: string | null;
  readonly notices: number;
  readonly summary: string;
}

/** A test email after its first attempt. */
export interface TestEmailDocument {
  readonly address: string;
  readonly state: 'queued' | 'sent' | 'failed';
  /** Last reply of the SMTP server, or last error; null: no attempt is over. */
  readonly reply: string | null;
}

/** Emails that could not be sent yet. */
export interface EmailStatusDocument {
  /** Emails that wait because their last attempt failed. */
  readonly waiting: number;
  /** Reason of the latest failure; null: no email waits. */
  readonly last_error: string | null;
}

export function kindNameOf(kind: AlertKind): AlertKindName {
  const name = alertKinds.toName(kind);
  if (!name) throw new Error(`alerts returned an unknown rule kind: ${kind}`);
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
    unconfirmed: rule.unconfirmed,
  };
}

export function incidentDocument(incident: Incident): IncidentDocument {
  return {
    id: incident.id,
    kind: kindNameOf(incident.kind),
    subject_id: incident.subjectId,
    object: incident.object,
    state: incidentStates.toName(incident.state) ?? 'ended',
    opened_at: timeOf(incident.openTime),
    closed_at: timeOf(incident.closeTime),
    notices: incident.notices,
    summary: incident.summary,
  };
}

const testEmailStates = enumNames(TestEmailState);

export function testEmailDocument({ address, state, reply }: TestEmail): TestEmailDocument {
  return { address, state: testEmailStates.toName(state) ?? 'queued', reply: reply || null };
}

export function emailStatusDocument({ waiting, lastError }: GetEmailStatusResponse): EmailStatusDocument {
  return { waiting, last_error: lastError || null };
}
