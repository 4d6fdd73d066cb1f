import { durationMs } from '@bufbuild/protobuf/wkt';
import type { Replay, ReplayDeliveriesResponse } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { ReplayStatus } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { enumNames } from '@rms/rpc';
import { deliveryStatuses } from '../delivery/status.ts';
import type { OneObject } from '../single-object.ts';
import { timeOf } from '../times.ts';

const statuses = enumNames(ReplayStatus);

/** Returns the API representation of a replay. */
export function replayJson(replay: Replay): string {
  return JSON.stringify(documentOf(replay, estimatedEndOf(replay)));
}

/** Returns a replay for a response with one object. Its ETag changes with its progress, but not with the time. */
export function oneReplayOf(replay: Replay | undefined): OneObject {
  if (!replay) throw new Error('the webhooks service returned no replay');
  return { json: replayJson(replay), stableJson: JSON.stringify(documentOf(replay, null)) };
}

/** Returns the result of a dry run. */
export function estimateJson({ count, countIsMinimum, duration }: ReplayDeliveriesResponse): string {
  return JSON.stringify({
    matching: Number(count),
    matching_is_minimum: countIsMinimum,
    estimated_seconds: duration ? durationMs(duration) / 1_000 : 0,
  });
}

function documentOf(replay: Replay, estimatedEndAt: string | null) {
  return {
    id: replay.id,
    type: 'replay',
    webhook_id: replay.webhookId,
    status: statuses.toName(replay.status),
    statuses: replay.statuses.map((status) => deliveryStatuses.toName(status)),
    event_types: replay.eventTypes,
    created_after: timeOf(replay.since),
    created_before: timeOf(replay.until),
    rate_per_second: replay.perSecond,
    matching: matchingOf(replay),
    sent: Number(replay.replayed),
    estimated_end_at: estimatedEndAt,
    created_at: timeOf(replay.createTime),
  };
}

/**
 * Returns the number of deliveries at the start; null if it is unknown. The stored total is 0 if there were none,
 * or too many to count. A replay that is done has sent all of them.
 */
function matchingOf({ total, replayed, status }: Replay): number | null {
  if (total > 0n) return Number(total);
  return status === ReplayStatus.DONE ? Number(replayed) : null;
}

function estimatedEndOf(replay: Replay): string | null {
  const matching = matchingOf(replay);
  if (replay.status !== ReplayStatus.RUNNING || matching === null) return null;
  const remaining = Math.max(0, matching - Number(replay.replayed));
  return new Date(Date.now() + (remaining / replay.perSecond) * 1_000).toISOString();
}
