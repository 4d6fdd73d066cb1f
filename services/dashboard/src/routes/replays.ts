import { durationMs } from '@bufbuild/protobuf/wkt';
import { deliveryStatuses } from '@rms/api';
import type { Replay } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { timestampFromMs } from '@rms/rpc';
import { z } from 'zod';
import { type ReplayResponseDocument, replayDocument } from '../documents/replay.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Starts a replay of the deliveries since a given time. With `dry_run`, only returns the count and the duration. */
export const startReplay = tenantEndpoint({
  access: 'deliveries.send',
  method: 'post',
  path: '/replays',
  body: z.strictObject({
    webhook_id: z.string().max(100),
    since: z.iso.datetime(),
    dry_run: z.boolean(),
    statuses: z.array(z.enum(deliveryStatuses.names)).min(1).max(deliveryStatuses.names.length),
    per_second: z.int().min(1).max(10_000),
  }),
  async handle({ backend, tenant, body, idempotencyKey, context }): Promise<ReplayResponseDocument> {
    const { count, countIsMinimum, duration, replay } = await backend.deliveries.replayDeliveries(
      {
        ...tenant,
        idempotencyKey,
        webhookId: body.webhook_id,
        since: timestampFromMs(Date.parse(body.since)),
        dryRun: body.dry_run,
        statuses: body.statuses.map(deliveryStatuses.toValue),
        perSecond: body.per_second,
      },
      { context },
    );
    return {
      count: Number(count),
      count_is_minimum: countIsMinimum,
      duration_seconds: duration ? durationMs(duration) / 1000 : 0,
      replay: replay ? replayDocument(replay) : null,
    };
  },
});

export const getReplay = tenantEndpoint({
  access: 'deliveries.read',
  method: 'get',
  path: '/replays/{id}',
  async handle({ backend, tenant, param, context, signal }) {
    const { replay } = await backend.deliveries.getReplay(
      { ...tenant, id: param('id') },
      { context, signal: signal() },
    );
    return replayDocument(present(replay));
  },
});

/** Cancels a replay. Deliveries that it has already started continue. */
export const cancelReplay = tenantEndpoint({
  access: 'deliveries.send',
  method: 'post',
  path: '/replays/{id}/cancel',
  async handle({ backend, tenant, param, context }) {
    const { replay } = await backend.deliveries.cancelReplay({ ...tenant, id: param('id') }, { context });
    return replayDocument(present(replay));
  },
});

function present(replay: Replay | undefined): Replay {
  if (!replay) throw new Error('webhooks returned no replay');
  return replay;
}
