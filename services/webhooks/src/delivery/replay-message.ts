import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { toEnvironmentMessage } from '@rms/base/tenant';
import { ReplayStatus as ReplayStatusMessage } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import { deliveryStatuses } from './delivery-message.ts';
import type { Replay } from './replay.ts';

const statuses: EnumNames<Replay['status'], ReplayStatusMessage> = enumNames(ReplayStatusMessage);

/** Converts a replay to rms.webhooks.v1.Replay. */
export function toReplayMessage(replay: Replay) {
  const { id, workspaceId, webhookId, perSecond, createdBy } = replay;
  return {
    id,
    workspaceId,
    webhookId,
    perSecond,
    createdBy,
    environment: toEnvironmentMessage(replay.environment),
    status: statuses.toValue(replay.status),
    total: BigInt(replay.total),
    replayed: BigInt(replay.replayed),
    createTime: timestampFromDate(replay.createdAt),
    statuses: replay.statuses.map(deliveryStatuses.toValue),
    eventTypes: [...replay.eventTypes],
    since: timestampFromDate(replay.since),
    until: timestampFromDate(replay.until),
  };
}
