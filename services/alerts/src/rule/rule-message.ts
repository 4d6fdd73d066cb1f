import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AlertKind as KindMessage } from '@rms/proto/rms/alerts/v1/alert_pb';
import { toEnvironmentMessage } from '../tenant.ts';
import { type AlertKind, alertKinds, type Rule } from './rule.ts';

const messages: Readonly<Record<AlertKind, KindMessage>> = {
  api_error_rate: KindMessage.API_ERROR_RATE,
  delivery_failure_rate: KindMessage.DELIVERY_FAILURE_RATE,
  delivery_failures_in_a_row: KindMessage.DELIVERY_FAILURES_IN_A_ROW,
  webhook_disabled: KindMessage.WEBHOOK_DISABLED,
  quota: KindMessage.QUOTA,
  rate_limited: KindMessage.RATE_LIMITED,
  key_expiry: KindMessage.KEY_EXPIRY,
};

export function toKindMessage(kind: AlertKind): KindMessage {
  return messages[kind];
}

/** Undefined: it is none. */
export function fromKindMessage(message: KindMessage): AlertKind | undefined {
  return alertKinds.find((kind) => messages[kind] === message);
}

/** A rule as rms.alerts.v1.Rule. */
export function toRuleMessage(rule: Rule, unsubscribed: readonly { kind: AlertKind; address: string }[]) {
  return {
    workspaceId: rule.workspaceId,
    environment: toEnvironmentMessage(rule.environment),
    kind: toKindMessage(rule.kind),
    enabled: rule.enabled,
    threshold: rule.threshold,
    minimum: BigInt(rule.minimum),
    recipients: [...rule.recipients],
    toOwners: rule.toOwners,
    unsubscribed: unsubscribed.filter(({ kind }) => kind === rule.kind).map(({ address }) => address),
    ...(rule.windowSeconds > 0 ? { window: durationFromMs(rule.windowSeconds * 1_000) } : {}),
    ...(rule.updatedAt ? { updateTime: timestampFromDate(rule.updatedAt) } : {}),
  };
}
