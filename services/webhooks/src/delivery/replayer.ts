import { inTransaction, type Pool, type Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { DeliveryEngine } from '../engine/engine.ts';
import type { Replay } from './replay.ts';
import { postponeReplay, replayNext, takeReplay } from './step-queries.ts';

const pollMs = 500;

export interface ReplayerParts {
  readonly pool: Pool;
  /** The queue of running replays. */
  readonly queue: Queue;
  readonly engine: Pick<DeliveryEngine, 'wake'>;
  readonly log: Logger;
}

/**
 * Creates the worker that runs replays, step by step. A replay with a failing step is postponed, so that it does not
 * delay the others.
 */
export function createReplayer({ pool, queue, engine, log }: ReplayerParts): Worker {
  /** Returns how many deliveries were sent; undefined if no replay is due. */
  const step = async (): Promise<number | undefined> => {
    let replay: Replay | undefined;
    try {
      return await inTransaction(pool, async (tx) => {
        replay = await takeReplay(tx);
        return replay && (await replayNext(tx, replay));
      });
    } catch (err) {
      if (!replay) throw err;
      await postponeReplay(pool, replay);
      log.error({ err, workspace_id: replay.workspaceId, replay_id: replay.id }, 'replay step failed; postponed');
      return 0;
    }
  };
  return {
    name: 'replays',
    async run(signal) {
      while (!signal.aborted) {
        const sent = await step();
        if (sent === undefined) await queue.sleep(pollMs, signal);
        else if (sent > 0) engine.wake();
      }
    },
  };
}
