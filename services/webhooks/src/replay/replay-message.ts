import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { ReplayStatus as ReplayStatusMessage } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import { toEnvironmentMessage } from '../subscription/webhook-message.ts';
import type { Replay } from './replay.ts';

const statuses: EnumNames<Replay['status'], ReplayStatusMessage> = enumNames(ReplayStatusMessage);

/** A replay as rms.webhooks.v1.Replay. */
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
  };
}
