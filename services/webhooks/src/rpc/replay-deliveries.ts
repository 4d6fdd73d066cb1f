import { durationFromMs, timestampDate } from '@bufbuild/protobuf/wkt';
import { actorOf, appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { type FieldViolation, RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import type { DeliveriesService, ReplayDeliveriesRequest } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { deliveryStatuses } from '../log/delivery-message.ts';
import type { LoggedStatus } from '../log/log-filter.ts';
import type { Replay, ReplayFilter } from '../replay/replay.ts';
import { toReplayMessage } from '../replay/replay-message.ts';
import { countReplayable, findReplay, insertReplay, replayNext } from '../replay/replay-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { findWebhook } from '../subscription/webhook-queries.ts';
import { checkCallable, found, type HandlerParts, translated } from './parts.ts';

const defaultPerSecond = 100;
const fastest = 10_000;
const ended: readonly LoggedStatus[] = ['delivered', 'failed', 'skipped'];

/** The first second's worth is due when this answers. */
export function replayDeliveries({
  pool,
  engine,
}: HandlerParts): Handlers<typeof DeliveriesService>['replayDeliveries'] {
  return (request, context) =>
    translated(async () => {
      const { filter, perSecond } = checkRequest(request);
      const scope = toScope(request);
      const { workspaceId, environment, status } = found(
        await findWebhook(pool, scope, filter.webhookId),
        'webhook',
        filter.webhookId,
      );
      if (!request.dryRun) checkCallable(status);
      const count = await countReplayable(pool, { workspaceId, environments: [environment] }, filter);
      const estimate = { count: BigInt(count), duration: durationFromMs((count / perSecond) * 1000) };
      if (request.dryRun) return estimate;
      const replay: Replay = {
        workspaceId,
        environment,
        id: newId('rpl'),
        ...filter,
        status: 'running',
        perSecond,
        total: count,
        replayed: 0,
        lastId: '',
        createdBy: actorOf(context),
        createdAt: new Date(),
      };
      const begun = await inTransaction(pool, async (tx) => {
        await insertReplay(tx, replay);
        await replayNext(tx, replay, perSecond);
        const details = { replay_id: replay.id, since: filter.since, until: filter.until, count };
        const change = { workspaceId, environment, action: 'deliveries.replayed', targetId: filter.webhookId, details };
        await appendAudit(tx, context, [change]);
        return findReplay(tx, scope, replay.id);
      });
      engine.wake();
      return { ...estimate, replay: toReplayMessage(found(begun, 'replay', replay.id)) };
    });
}

function checkRequest(request: ReplayDeliveriesRequest): { filter: ReplayFilter; perSecond: number } {
  const details: FieldViolation[] = [];
  const { webhookId, since, until, eventType, perSecond = defaultPerSecond } = request;
  if (!since) details.push({ field: 'since', message: 'must be given' });
  const statuses = request.statuses.map(deliveryStatuses.toName);
  if (!statuses.every((status) => status !== undefined && ended.includes(status))) {
    details.push({ field: 'statuses', message: 'must be of delivered, failed and skipped' });
  }
  if (perSecond < 0 || perSecond > fastest) {
    details.push({ field: 'per_second', message: `must be 1 to ${fastest}` });
  }
  if (details.length > 0 || !since) throw new RmsError('invalid_request', { details });
  return {
    filter: {
      webhookId,
      statuses: statuses.length > 0 ? (statuses as LoggedStatus[]) : ['failed', 'skipped'],
      since: timestampDate(since),
      until: until ? timestampDate(until) : new Date(),
      eventType: eventType || undefined,
    },
    perSecond: perSecond || defaultPerSecond,
  };
}
