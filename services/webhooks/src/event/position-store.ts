import type { PositionStore } from '@rms/bus';
import type { Pool } from '@rms/postgres/db';
import type { WebhooksMetrics } from '../metrics.ts';
import { movePosition, readPositions } from './position-queries.ts';

export interface PositionStoreParts {
  readonly pool: Pool;
  readonly topic: string;
  readonly metrics: Pick<WebhooksMetrics, 'losses'>;
}

/** Creates the store for the fan-out's positions in a topic. Its epoch is the feeds' epoch. */
export function createPositionStore({ pool, topic, metrics }: PositionStoreParts): PositionStore {
  return {
    read: (partitions) => readPositions(pool, topic, partitions),
    async move(move) {
      const epoch = await movePosition(pool, topic, move);
      if (epoch !== undefined && move.loss) metrics.losses.inc();
      return epoch;
    },
  };
}
