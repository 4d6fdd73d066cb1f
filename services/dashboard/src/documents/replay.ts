import { type Replay, ReplayStatus } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { timeOf } from './text.ts';

/** Deliveries that are sent again at a rate. */
export interface ReplayDocument {
  readonly id: string;
  readonly webhook_id: string;
  readonly status: 'running' | 'done' | 'cancelled';
  readonly total: number;
  readonly replayed: number;
  readonly per_second: number;
  readonly created_at: string | null;
}

/** What a replay would be, or that it has begun. */
export interface ReplayAnswerDocument {
  readonly count: number;
  readonly duration_seconds: number;
  /** null: it was a dry run. */
  readonly replay: ReplayDocument | null;
}

export function replayDocument(replay: Replay): ReplayDocument {
  return {
    id: replay.id,
    webhook_id: replay.webhookId,
    status:
      replay.status === ReplayStatus.RUNNING
        ? 'running'
        : replay.status === ReplayStatus.CANCELLED
          ? 'cancelled'
          : 'done',
    total: Number(replay.total),
    replayed: Number(replay.replayed),
    per_second: replay.perSecond,
    created_at: timeOf(replay.createTime),
  };
}
