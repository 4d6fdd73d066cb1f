import { timestampDate } from '@bufbuild/protobuf/wkt';
import { type FieldViolation, RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import { type TenantScope, toScope, toTenant } from '@rms/base/tenant';
import { eventTypes, isEventType } from '@rms/base/webhook-events';
import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import {
  type DeliveriesService,
  type ReplayDeliveriesRequest,
  ReplayDeliveriesResponseSchema,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { actorOf, durationFromMs, type Handlers } from '@rms/rpc';
import { deliveryStatuses, toStatusNames } from '../delivery/delivery-message.ts';
import { type LoggedStatus, sourcesOf } from '../delivery/log-filter.ts';
import { type Replay, type ReplayFilter, toReplayMessage } from '../delivery/replay.ts';
import { findReplay } from '../delivery/replay-queries.ts';
import { replayNext } from '../delivery/replayer.ts';
import { conditionsOf, maxCounted, type ReplayCount } from '../delivery/selection-queries.ts';
import { webhookEntry } from '../webhook/webhook-message.ts';
import { findWebhook } from '../webhook/webhook-queries.ts';
import { checkCallable, found, type HandlerParts } from './parts.ts';

const defaultPerSecond = 100;
const fastest = 10_000;
/** Running replays per workspace, round-robin with the replays of other workspaces. */
const mostRunning = 20;
/** Statuses that a replay can select. A canceled delivery can only be redelivered individually. */
const replayable: readonly LoggedStatus[] = deliveryStatuses.names.filter((name) => name !== 'canceled');
/** The default: every delivery that should have arrived by now. */
const undelivered: readonly LoggedStatus[] = ['failed', 'retrying', 'skipped'];

/** Starts a replay. Its first step is due when the call returns. */
export function replayDeliveries({
  pool,
  engine,
  queues,
  idempotency,
  time,
}: HandlerParts): Handlers<typeof DeliveriesService>['replayDeliveries'] {
  return async (request, context) => {
    const now = new Date(await time.fresh());
    const { filter, perSecond } = checkRequest(request, now);
    const { webhookId } = filter;
    const scope = toScope(request);
    const estimate = async (db: Queryable) => {
      const webhook = found(await findWebhook(db, scope, webhookId), 'webhook', webhookId);
      const { workspaceId, environment } = webhook;
      if (!request.dryRun) checkCallable(webhook.status);
      const counted = await countReplayable(db, { workspaceId, environments: [environment] }, filter);
      const { count, isMinimum } = counted;
      const duration = durationFromMs(Math.ceil((count * 1_000) / perSecond));
      return { webhook, ...counted, response: { count: BigInt(count), countIsMinimum: isMinimum, duration } };
    };
    if (request.dryRun) return (await estimate(pool)).response;
    const { since, until, ...content } = filter;
    // Without the default of `until`, which is the current time and differs in a repetition.
    const range = [since, request.until ? until : undefined];
    const once = {
      tenant: () => toTenant(request),
      operation: 'replay deliveries',
      key: request.idempotencyKey,
      content: [content, range, perSecond],
    };
    const { response, replayed } = await idempotency.once(once, ReplayDeliveriesResponseSchema, async (tx) => {
      const { webhook, count, isMinimum, response: estimated } = await estimate(tx);
      if ((await countRunning(tx, webhook.workspaceId, mostRunning)) >= mostRunning) {
        throw new RmsError('conflict', {
          message: `The workspace has reached its limit of ${mostRunning} running replays. Wait until one ends, or cancel one.`,
        });
      }
      const replay: Replay = {
        workspaceId: webhook.workspaceId,
        environment: webhook.environment,
        id: newId('rpl'),
        ...filter,
        status: 'running',
        perSecond,
        total: isMinimum ? 0 : count,
        replayed: 0,
        lastId: '',
        createdBy: actorOf(context),
        createdAt: now,
      };
      await insertReplay(tx, replay);
      await replayNext(tx, replay);
      const counted = isMinimum ? { count_at_least: count } : { count };
      const details = { replay_id: replay.id, since, until, ...counted };
      await appendAudit(tx, context, [webhookEntry(webhook, { action: 'deliveries.replayed', details })]);
      const started = found(await findReplay(tx, scope, replay.id), 'replay', replay.id);
      return { ...estimated, replay: toReplayMessage(started) };
    });
    queues.replays.wake();
    engine.wake();
    return { ...response, replayed };
  };
}

function checkRequest(request: ReplayDeliveriesRequest, now: Date): { filter: ReplayFilter; perSecond: number } {
  const details: FieldViolation[] = [];
  const { webhookId, since, until, eventType, perSecond = defaultPerSecond } = request;
  const types = [...new Set([...request.eventTypes, ...(eventType ? [eventType] : [])])];
  if (!since) details.push({ field: 'since', message: 'is required' });
  const statuses = toStatusNames(request.statuses);
  if (!statuses?.every((status) => replayable.includes(status))) {
    details.push({ field: 'statuses', message: `must contain only ${replayable.join(', ')}` });
  }
  if (!types.every(isEventType)) {
    details.push({ field: 'event_types', message: `must contain only ${eventTypes.join(', ')}` });
  }
  if (perSecond < 0 || perSecond > fastest) {
    details.push({ field: 'per_second', message: `must be 1 to ${fastest}` });
  }
  if (details.length > 0 || !since || !statuses) throw new RmsError('invalid_request', { details });
  return {
    filter: {
      webhookId,
      statuses: statuses.length > 0 ? statuses : undelivered,
      since: timestampDate(since),
      until: until ? timestampDate(until) : now,
      eventTypes: types,
    },
    perSecond: perSecond || defaultPerSecond,
  };
}

/**
 * Returns the number of running replays of a workspace, at most `most`. Replays of the workspace cannot be started
 * concurrently until the transaction ends.
 */
async function countRunning(tx: Queryable, workspaceId: string, most: number): Promise<number> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('replays of ' || $1, 0))", [workspaceId]);
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::integer as count
       from (select from webhooks.replays where workspace_id = $1 and status = 'running' limit $2) as few`,
    [workspaceId, most],
  );
  return rows[0]?.count ?? 0;
}

/** Stores a new replay. */
async function insertReplay(tx: Queryable, replay: Replay): Promise<void> {
  await tx.query(
    `insert into webhooks.replays (workspace_id, environment, id, webhook_id, statuses, event_type, since, until,
                                   per_second, status, total, created_by, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      replay.workspaceId,
      replay.environment,
      replay.id,
      replay.webhookId,
      replay.statuses,
      replay.eventTypes.join(',') || null,
      replay.since,
      replay.until,
      replay.perSecond,
      replay.status,
      replay.total,
      replay.createdBy,
      replay.createdAt,
    ],
  );
}

/** Counts the deliveries that a replay would send, among the first {@link maxCounted} rows of the webhook. */
async function countReplayable(db: Queryable, scope: TenantScope, filter: ReplayFilter): Promise<ReplayCount> {
  let count = 0;
  let isMinimum = false;
  for (const source of sourcesOf(filter)) {
    const { indexed, others, values } = conditionsOf(scope, filter, source);
    const where = `${indexed} and ${others}`;
    // Reads a range of an index, in its order. For the queue this is the order of due_at, because the queue has no
    // index of a webhook's deliveries in ID order. The limit is a subquery, so that the planner does not know it and
    // reads the index in order instead of sorting the range.
    const range =
      source === 'deliveries'
        ? `d.webhook_id = $${values.push(filter.webhookId)} order by d.due_at`
        : `${indexed} order by d.id`;
    const { rows } = await db.query<{ read: number; count: number }>(
      `select count(*)::integer as read, (count(*) filter (where ${where}))::integer as count
         from (select * from webhooks.${source} as d where ${range} limit (select ${maxCounted})) as d`,
      values,
    );
    count += rows[0]?.count ?? 0;
    isMinimum ||= rows[0]?.read === maxCounted;
  }
  return { count, isMinimum };
}
