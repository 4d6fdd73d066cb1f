import type { Replay } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { z } from 'zod';
import { deliveryStatuses } from '../delivery/status.ts';
import { checkId, defineEndpoint, type OneObject, oneJson, oneResponse } from '../endpoint.ts';
import { listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { toTimestamp } from '../times.ts';
import { estimateDocument, replayDocument } from './document.ts';
import { createReplayBody, oneEstimate, oneReplay, replayList } from './schema.ts';

const createReplay = defineEndpoint({
  method: 'post',
  path: '/v1/replays',
  operationId: 'createReplay',
  summary: 'Start a replay',
  description:
    'Sends deliveries of a webhook again, oldest first. Pending and retrying ones are attempted immediately, with a full ' +
    'set of retries. With `dry_run`, it only counts them and responds with 200.',
  tag: 'Replays',
  permission: 'deliveries:write',
  idempotent: true,
  conditional: true,
  body: createReplayBody,
  bodyNamesObject: true,
  success: { status: 201, description: 'The new replay.', schema: oneReplay },
  otherSuccess: { status: 200, description: 'The result of a dry run.', schema: oneEstimate },
  async handle({ context, body, tenant, idempotencyKey, backend }) {
    const { workspaceId, environment } = tenant;
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
    if (dryRun) return { status: 200, json: oneJson(JSON.stringify(estimateDocument(begun))) };
    return oneResponse(201, oneReplayOf(begun.replay), begun.replayed);
  },
});

const listReplays = defineEndpoint({
  method: 'get',
  path: '/v1/replays',
  operationId: 'listReplays',
  summary: 'List replays',
  description: 'Newest first.',
  tag: 'Replays',
  permission: 'deliveries:read',
  query: z.strictObject(pageQuery),
  success: { status: 200, description: 'A page of replays.', schema: replayList },
  async handle({ context, query, tenant, backend, url, signal }) {
    const { workspaceId, environment } = tenant;
    const pageSize = pageSizeOf(query);
    const page = await backend.deliveries.listReplays(
      { workspaceId, environment, pageSize, pageToken: query.cursor ?? '' },
      { context: context(), signal: signal() },
    );
    return listResponse(
      page.replays.map((replay) => JSON.stringify(replayDocument(replay))),
      { ...page, pageSize },
      url(),
      query,
    );
  },
});

const getReplay = defineEndpoint({
  method: 'get',
  path: '/v1/replays/{id}',
  operationId: 'getReplay',
  summary: 'Get a replay with its progress',
  tag: 'Replays',
  permission: 'deliveries:read',
  conditional: true,
  success: { status: 200, description: 'The replay.', schema: oneReplay },
  async handle({ context, id, tenant, backend, signal }) {
    checkId('rpl', id);
    const { workspaceId, environment } = tenant;
    const { replay } = await backend.deliveries.getReplay(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    return oneResponse(200, oneReplayOf(replay));
  },
});

const cancelReplay = defineEndpoint({
  method: 'post',
  path: '/v1/replays/{id}/cancel',
  operationId: 'cancelReplay',
  summary: 'Cancel a replay',
  description:
    'Deliveries that the replay has already sent again are not canceled. A replay that has ended stays unchanged.',
  tag: 'Replays',
  permission: 'deliveries:write',
  idempotent: true,
  conditional: true,
  success: { status: 200, description: 'The replay.', schema: oneReplay },
  async handle({ context, id, tenant, idempotencyKey, backend }) {
    checkId('rpl', id);
    const { workspaceId, environment } = tenant;
    const { replay, replayed } = await backend.deliveries.cancelReplay(
      { workspaceId, environment, id, idempotencyKey },
      { context: context() },
    );
    return oneResponse(200, oneReplayOf(replay), replayed);
  },
});

/** Returns a replay for a response with one object. Its ETag changes with its progress, but not with the time. */
function oneReplayOf(replay: Replay | undefined): OneObject {
  if (!replay) throw new Error('the webhooks service returned no replay');
  const document = replayDocument(replay);
  return { json: JSON.stringify(document), stableJson: JSON.stringify({ ...document, estimated_end_at: null }) };
}

export const replayEndpoints = [createReplay, listReplays, getReplay, cancelReplay];
