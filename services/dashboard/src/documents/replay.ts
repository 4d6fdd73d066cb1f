import { type Replay, ReplayStatus } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { timeOf } from './text.ts';

/** Replay of deliveries at a given rate. */
export interface ReplayDocument {
  readonly id: string;
  readonly webhook_id: string;
  readonly status: 'running' | 'done' | 'canceled';
  /** null: no deliveries, or too many to count. */
  readonly total: number | null;
  readonly replayed: number;
  readonly per_second: number;
  readonly created_at: string | null;
}

/** Estimate of a replay, with the replay if it was started. */
export interface ReplayResponseDocument {
  readonly count: number;
  /** True if there are too many deliveries to count. Then `count` is a lower bound. */
  readonly count_is_minimum: boolean;
  /** Estimated duration of redelivering `count` deliveries. */
  readonly duration_seconds: number;
  /** null: dry run. */
  readonly replay: ReplayDocument | null;
}

export function replayDocument(replay: Replay): ReplayDocument {
  return {
    id: replay.id,
    webhook_id: replay.webhookId,
    status:
      replay.status === ReplayStatus.RUNNING
        ? 'running'
        : replay.status === ReplayStatus.CANCELED
          ? 'canceled'
          : 'done',
    total: Number(replay.total) || null,
    replayed: Number(replay.replayed),
    per_second: replay.perSecond,
    created_at: timeOf(replay.createTime),
  };
}
