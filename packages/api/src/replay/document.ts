import { durationMs } from '@bufbuild/protobuf/wkt';
import {
  type Replay as Message,
  type ReplayDeliveriesResponse,
  ReplayStatus,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { deliveryStatuses } from '../delivery/status.ts';
import { presentTimeOf } from '../times.ts';
import type { Replay, ReplayEstimate } from './schema.ts';

const statuses = enumNames(ReplayStatus);

/** Returns the API representation of a replay. */
export function replayDocument(replay: Message): Replay {
  return {
    id: replay.id,
    type: 'replay',
    webhook_id: replay.webhookId,
    status: statuses.toName(replay.status) ?? 'running',
    statuses: replay.statuses.flatMap((status) => deliveryStatuses.toName(status) ?? []),
    event_types: replay.eventTypes,
    created_after: presentTimeOf(replay.since),
    created_before: presentTimeOf(replay.until),
    rate_per_second: replay.perSecond,
    matching: matchingOf(replay),
    sent: Number(replay.replayed),
    estimated_end_at: estimatedEndOf(replay),
    created_at: presentTimeOf(replay.createTime),
    created_by: replay.createdBy || null,
  };
}

/** Returns a dry run's result. */
export function estimateDocument({ count, countIsMinimum, duration }: ReplayDeliveriesResponse): ReplayEstimate {
  return {
    matching: Number(count),
    matching_is_minimum: countIsMinimum,
    estimated_seconds: duration ? durationMs(duration) / 1_000 : 0,
  };
}

/**
 * Returns the number of deliveries at the start; null if it is unknown. The stored total is 0 if there were none,
 * or too many to count. A replay that is done has sent all of them.
 */
function matchingOf({ total, replayed, status }: Message): number | null {
  if (total > 0n) return Number(total);
  return status === ReplayStatus.DONE ? Number(replayed) : null;
}

function estimatedEndOf(replay: Message): string | null {
  const matching = matchingOf(replay);
  if (replay.status !== ReplayStatus.RUNNING || matching === null) return null;
  const remaining = Math.max(0, matching - Number(replay.replayed));
  return new Date(Date.now() + (remaining / replay.perSecond) * 1_000).toISOString();
}
