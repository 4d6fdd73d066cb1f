import { durationMs } from '@bufbuild/protobuf/wkt';
import {
  type Replay,
  type ReplayDeliveriesResponse,
  ReplayStatus,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { fromEnvironmentMessage } from '@rms/tenant';
import { time } from './documents.ts';

const statuses = enumNames(ReplayStatus);

/** Returns a replay for the output of `rms deliveries replay…`. `total` is null if it is 0 or too large to count. */
export function replayDocument(replay: Replay) {
  return {
    id: replay.id,
    webhook_id: replay.webhookId,
    environment: fromEnvironmentMessage(replay.environment),
    status: statuses.toName(replay.status) ?? '',
    total: Number(replay.total) || null,
    replayed: Number(replay.replayed),
    per_second: replay.perSecond,
    created_at: time(replay.createTime),
    created_by: replay.createdBy || null,
  };
}

/** Formats the progress of a replay: "rpl_… is running: 40 of 120 redelivered", or without the total. */
export function replayText({ id, status, replayed, total }: ReturnType<typeof replayDocument>): string {
  return `${id} is ${status}: ${replayed}${total === null ? '' : ` of ${total}`} redelivered`;
}

/** Returns an estimate: number of deliveries, whether that is a minimum, and the estimated duration. */
export function estimateDocument({ count, countIsMinimum, duration }: ReplayDeliveriesResponse) {
  return {
    count: Number(count),
    count_is_minimum: countIsMinimum,
    duration_seconds: duration ? durationMs(duration) / 1000 : 0,
  };
}

/** Formats an estimate: "120 deliveries would be redelivered in 1.2 s". */
export function estimateText({
  count,
  count_is_minimum,
  duration_seconds,
}: ReturnType<typeof estimateDocument>): string {
  const least = count_is_minimum ? 'at least ' : '';
  return `${least}${count} deliveries would be redelivered in ${least}${duration_seconds} s`;
}
