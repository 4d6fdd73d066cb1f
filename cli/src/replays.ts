import { durationMs } from '@bufbuild/protobuf/wkt';
import {
  type Replay,
  type ReplayDeliveriesResponse,
  ReplayStatus,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { enumNames } from '@rms/rpc';
import { environmentName, time } from './documents.ts';

const statuses = enumNames(ReplayStatus);

/** A replay as `rms deliveries replay…` prints it. */
export function replayDocument(replay: Replay) {
  return {
    id: replay.id,
    webhook_id: replay.webhookId,
    environment: environmentName(replay.environment),
    status: statuses.toName(replay.status) ?? '',
    total: Number(replay.total),
    replayed: Number(replay.replayed),
    per_second: replay.perSecond,
    created_at: time(replay.createTime),
    created_by: replay.createdBy || null,
  };
}

/** "rpl_… is running: 40 of 120 sent again". */
export function replayText({ id, status, replayed, total }: ReturnType<typeof replayDocument>): string {
  return `${id} is ${status}: ${replayed} of ${total} sent again`;
}

/** How many deliveries, and how long they take. */
export function estimateDocument({ count, duration }: ReplayDeliveriesResponse) {
  return { count: Number(count), duration_seconds: duration ? durationMs(duration) / 1000 : 0 };
}
