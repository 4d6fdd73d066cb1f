import { alertRules } from '@rms/base/alert-rules';
import { AlertKind, type Rule } from '@rms/proto/rms/alerts/v1/alert_pb';
import { type TestEmail, TestEmailState } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { fromDuration, timeOf } from '../times.ts';
import type { AlertRule, AlertRuleTest } from './schema.ts';

export const alertKindMessages = enumNames(AlertKind);
const testEmailStates = enumNames(TestEmailState);

/** Returns the API representation of a rule. */
export function alertRuleDocument(rule: Rule): AlertRule {
  const kind = alertKindName(rule.kind);
  const has = alertRules[kind];
  return {
    kind,
    type: 'alert_rule',
    enabled: rule.enabled,
    threshold: has.threshold ? rule.threshold : null,
    window: rule.window ? fromDuration(rule.window) : null,
    minimum: has.minimum === undefined ? null : Number(rule.minimum),
    recipients: rule.recipients,
    to_owners: rule.toOwners,
    channels: rule.channelIds,
    unsubscribed: rule.unsubscribed,
    unconfirmed: rule.unconfirmed,
    updated_at: timeOf(rule.updateTime),
  };
}

/** Returns a kind's name. Throws for an unknown one. */
export function alertKindName(kind: AlertKind) {
  const name = alertKindMessages.toName(kind);
  if (!name) throw new Error(`alerts returned an unknown kind of rule: ${kind}`);
  return name;
}

/** Returns the API representation of a test email. */
export function testEmailDocument({ address, state, reply }: TestEmail): AlertRuleTest['emails'][number] {
  return { address, state: testEmailStates.toName(state) ?? 'queued', reply: reply || null };
}
