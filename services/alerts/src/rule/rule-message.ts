import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AlertKind as KindMessage } from '@rms/proto/rms/alerts/v1/alert_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import { toEnvironmentMessage } from '../tenant.ts';
import type { AlertKind, Rule } from './rule.ts';

export const kindNames: EnumNames<AlertKind, KindMessage> = enumNames(KindMessage);

/** A rule as rms.alerts.v1.Rule. */
export function toRuleMessage(rule: Rule, unsubscribed: readonly { kind: AlertKind; address: string }[]) {
  return {
    workspaceId: rule.workspaceId,
    environment: toEnvironmentMessage(rule.environment),
    kind: kindNames.toValue(rule.kind),
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
