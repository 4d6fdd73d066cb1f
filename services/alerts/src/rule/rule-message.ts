import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { toEnvironmentMessage } from '@rms/base/tenant';
import { AlertKind as KindMessage } from '@rms/proto/rms/alerts/v1/alert_pb';
import { durationFromMs, type EnumNames, enumNames } from '@rms/rpc';
import type { AlertKind, Rule } from './rule.ts';

export const kindNames: EnumNames<AlertKind, KindMessage> = enumNames(KindMessage);

/** Converts a kind. Throws `invalid_request` for an unspecified or unknown one. */
export function fromKindMessage(kind: KindMessage): AlertKind {
  const name = kindNames.toName(kind);
  if (name) return name;
  const message = `must be one of ${kindNames.names.join(', ')}`;
  throw new RmsError('invalid_request', { details: [{ field: 'kind', message }] });
}

/**
 * Converts a rule to rms.alerts.v1.Rule.
 * @param unconfirmed addresses of the workspace's rules that have not confirmed, in lower case
 */
export function toRuleMessage(
  rule: Rule,
  unsubscribed: readonly { kind: AlertKind; address: string }[],
  unconfirmed: ReadonlySet<string>,
) {
  return {
    workspaceId: rule.workspaceId,
    environment: toEnvironmentMessage(rule.environment),
    kind: kindNames.toValue(rule.kind),
    enabled: rule.enabled,
    threshold: rule.threshold,
    minimum: BigInt(rule.minimum),
    recipients: [...rule.recipients],
    toOwners: rule.toOwners,
    channelIds: [...rule.channels],
    version: BigInt(rule.version),
    unsubscribed: unsubscribed.filter(({ kind }) => kind === rule.kind).map(({ address }) => address),
    unconfirmed: rule.recipients.filter((address) => unconfirmed.has(address.toLowerCase())),
    ...(rule.windowSeconds > 0 ? { window: durationFromMs(rule.windowSeconds * 1_000) } : {}),
    ...(rule.updatedAt ? { updateTime: timestampFromDate(rule.updatedAt) } : {}),
  };
}
