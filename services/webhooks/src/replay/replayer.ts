import { inTransaction, type Pool } from '@rms/db';
import { abortableDelay, type Worker } from '@rms/service';
import type { DeliveryEngine } from '../delivery/engine.ts';
import { replayNext, takeReplay } from './replay-queries.ts';

const pollMs = 500;

/** Sends what replays have taken on, a second's worth of each at a time. */
export function createReplayer({ pool, engine }: { pool: Pool; engine: Pick<DeliveryEngine, 'wake'> }): Worker {
  const step = () =>
    inTransaction(pool, async (tx) => {
      const replay = await takeReplay(tx);
      return replay === undefined ? undefined : replayNext(tx, replay, replay.perSecond);
    });
  return {
    name: 'replays',
    async run(signal) {
      while (!signal.aborted) {
        const sent = await step();
        if (sent === undefined) await abortableDelay(pollMs, signal);
        else if (sent > 0) engine.wake();
      }
    },
  };
}
