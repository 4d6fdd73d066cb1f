import { deliveryStatuses } from '../deliveries/delivery-schemas.ts';
import { defineEndpoint } from '../shared/endpoint.ts';
import { oneJson, oneResponse } from '../shared/single-object.ts';
import { toTimestamp } from '../shared/time-schemas.ts';
import { estimateJson, oneReplayOf } from './replay-json.ts';
import { createReplayBody, oneReplay, replayEstimate } from './replay-schemas.ts';

export const createReplay = defineEndpoint({
  method: 'post',
  path: '/v1/replays',
  operationId: 'createReplay',
  summary: 'Start a replay',
  description:
    'Sends deliveries of a webhook again, oldest first. Pending and retrying ones are attempted immediately, with a full ' +
    'set of retries. With `dry_run`, it only counts them and responds with 200.',
  tag: 'Replays',
  scope: 'admin',
  idempotent: true,
  conditional: true,
  body: createReplayBody,
  bodyNamesObject: true,
  success: { status: 201, description: 'The new replay.', schema: oneReplay },
  otherSuccess: { status: 200, description: 'The result of a dry run.', schema: replayEstimate },
  async handle({ context, body, principal, idempotencyKey, backend }) {
    const { workspaceId, environment } = principal;
    const { created_before: until, dry_run: dryRun = false } = body;
    const begun = await backend.deliveries.replayDeliveries(
      {
        workspaceId,
        environment,
        webhookId: body.webhook_id,
        statuses: (body.statuses ?? []).map(deliveryStatuses.toValue),
        eventTypes: body.event_types ?? [],
        since: toTimestamp(body.created_after),
        ...(until === undefined ? {} : { until: toTimestamp(until) }),
        perSecond: body.rate_per_second ?? 0,
        dryRun,
        idempotencyKey,
      },
      { context: context() },
    );
    if (dryRun) return { status: 200, json: oneJson(estimateJson(begun)) };
    return oneResponse(201, oneReplayOf(begun.replay), begun.replayed);
  },
});
