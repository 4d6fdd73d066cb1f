import { inTransaction, type Pool, type Queryable, type Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { DeliveryEngine } from '../engine/engine.ts';
import { statusOf } from './log-filter.ts';
import { makeDueColumns, maxRedeliveries, requeue } from './redeliver-queries.ts';
import type { Replay } from './replay.ts';
import { type ReplayRow, toReplay } from './replay-queries.ts';
import { nextIds, stepLimit } from './selection-queries.ts';

const pollMs = 500;

export interface ReplayerParts {
  readonly pool: Pool;
  /** The queue of running replays. */
  readonly queue: Queue;
  readonly engine: DeliveryEngine;
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

/**
 * Reads one replay with a due step, and locks it until the transaction ends. A step that is due in more than ten
 * minutes was scheduled before the database's clock was set back: the longest pause is five minutes.
 */
export async function takeReplay(tx: Queryable): Promise<Replay | undefined> {
  const { rows } = await tx.query<ReplayRow>(
    `select * from webhooks.replays where status = 'running' and next_at not between now() and now() + interval '10 minutes'
      order by next_at limit 1 for update skip locked`,
  );
  return rows[0] && toReplay(rows[0]);
}

/**
 * Makes the next deliveries of a replay due immediately, oldest first: as many as it sends per second, within
 * {@link stepLimit}. Returns their number. The next step is due when the rate allows it. A step that has read as many
 * rows as it may, although few of them match, is followed by the next one accordingly soon. If no deliveries remain, the
 * replay is done.
 */
export async function replayNext(tx: Queryable, replay: Replay): Promise<number> {
  const limit = Math.min(replay.perSecond, stepLimit.deliveries);
  const { ids, position, isLast } = await nextIds(tx, replay, limit);
  // In this order, a delivery that ends between the statements is sent from the log.
  const replayed = (await makeQueuedDue(tx, replay, ids)) + (await requeueLogged(tx, replay, ids));
  const seconds = (isLast ? limit : ids.length) / replay.perSecond;
  await tx.query(
    `update webhooks.replays
        set replayed = replayed + $4, last_id = $5, next_at = now() + make_interval(secs => $6), failures = 0,
            status = case when $7 then 'done' else status end
      where workspace_id = $1 and environment = $2 and id = $3`,
    [replay.workspaceId, replay.environment, replay.id, replayed, position, seconds, isLast],
  );
  return replayed;
}

/**
 * Postpones a replay after a failed step: by one second, then twice as long after each failure, up to five minutes.
 */
async function postponeReplay(db: Queryable, { workspaceId, environment, id }: Replay): Promise<void> {
  await db.query(
    `update webhooks.replays
        set failures = failures + 1, next_at = now() + make_interval(secs => least(power(2, least(failures, 20)), 300))
      where workspace_id = $1 and environment = $2 and id = $3`,
    [workspaceId, environment, id],
  );
}

/**
 * Makes the queued deliveries among `ids` due, like a redelivery. Deliveries that are already due, or that wait for an
 * earlier delivery of their lane, stay unchanged. Returns the number of queued deliveries, including unchanged ones.
 */
async function makeQueuedDue(tx: Queryable, replay: Replay, ids: readonly string[]): Promise<number> {
  const { rows } = await tx.query<{ count: string }>(
    `with again as materialized (
       select workspace_id, environment, id from webhooks.deliveries
        where workspace_id = $1 and environment = $2 and id = any($3) order by id for update
     ), hurried as (
       update webhooks.deliveries as d set ${makeDueColumns}, origin = $4
         from again
        where d.workspace_id = again.workspace_id and d.environment = again.environment and d.id = again.id
          and d.due_at > now() and not d.redelivery_requested and d.redeliveries < ${maxRedeliveries}
     )
     select count(*) from again`,
    [replay.workspaceId, replay.environment, ids, replay.id],
  );
  return Number(rows[0]?.count ?? 0);
}

/** Moves the logged deliveries among `ids` back to the queue, delivered ones only if the replay includes them. */
async function requeueLogged(tx: Queryable, replay: Replay, ids: readonly string[]): Promise<number> {
  const { rowCount } = await tx.query(
    `with again as materialized (
       select workspace_id, environment, id from webhooks.delivery_log
        where workspace_id = $1 and environment = $2 and id = any($3) and (status <> 'delivered' or $5)
          and ${statusOf.delivery_log} <> 'canceled'
        order by id for update
     ),${requeue('$4::text')}
     select id from queued`,
    [replay.workspaceId, replay.environment, ids, replay.id, replay.statuses.includes('delivered')],
  );
  return rowCount ?? 0;
}
