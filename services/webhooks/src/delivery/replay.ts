import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Tenant, toEnvironmentMessage } from '@rms/base/tenant';
import { ReplayStatus as ReplayStatusMessage } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import { deliveryStatuses } from './delivery-message.ts';
import type { LoggedStatus } from './log-filter.ts';

/** Selects the deliveries that a replay sends again. */
export interface ReplayFilter {
  readonly webhookId: string;
  readonly statuses: readonly LoggedStatus[];
  /** Range of the event time. */
  readonly since: Date;
  readonly until: Date;
  /** Empty: any. */
  readonly eventTypes: readonly string[];
}

export type ReplayStatus = 'running' | 'done' | 'canceled';

/** A replay sends deliveries again, oldest first, at a limited rate. */
export interface Replay extends Tenant, ReplayFilter {
  readonly id: string;
  readonly status: ReplayStatus;
  readonly perSecond: number;
  /** Number of deliveries at the start. 0 means none, or too many to count. */
  readonly total: number;
  readonly replayed: number;
  /** ID of the last delivery that it has sent. */
  readonly lastId: string;
  readonly createdBy: string;
  readonly createdAt: Date;
}

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
