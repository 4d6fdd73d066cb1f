import { eventTypes } from '@rms/base/webhook-events';
import type { Response } from '@rms/net/http';
import type { Webhook } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import type { CallOptions } from '@rms/rpc';
import { z } from 'zod';
import { testAttemptDocument } from '../attempt/document.ts';
import { testAttempt } from '../attempt/schema.ts';
import { type Call, checkId, defineEndpoint, oneJson, oneResponse, replayedHeader } from '../endpoint.ts';
import { seconds } from '../field-schemas.ts';
import { flag, listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { toDuration } from '../times.ts';
import { testFilter } from '../webhook-filter/endpoints.ts';
import {
  fullWebhookDocument,
  healthStates,
  oneWebhookOf,
  readHealth,
  rotatedSecretDocument,
  toRateLimitMessage,
  toRetryPolicyMessage,
  webhookDocument,
  webhookStatuses,
} from './document.ts';
import {
  createWebhookBody,
  oneNewWebhook,
  oneRotatedSecret,
  oneWebhook,
  updateWebhookBody,
  webhookFilters,
  webhookList,
} from './schema.ts';

export const createWebhook = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks',
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'The response contains the signing secret, which is shown only once. If another API key repeats the ' +
    'Idempotency-Key, its response does not contain the secret.',
  tag: 'Webhooks',
  permission: 'webhooks:write',
  idempotent: true,
  body: createWebhookBody,
  conditional: true,
  success: { status: 201, description: 'The new webhook with its secret.', schema: oneNewWebhook },
  async handle({ context, body, tenant, limits, idempotencyKey, backend }) {
    const { workspaceId, environment } = tenant;
    const { maxWebhooks } = await limits();
    const { webhook, secret, replayed } = await backend.webhooks.createWebhook(
      {
        workspaceId,
        environment,
        url: body.url,
        events: body.events,
        description: body.description ?? '',
        ordered: body.ordered ?? false,
        ...(body.status === undefined ? {} : { status: webhookStatuses.toValue(body.status) }),
        headers: body.headers ?? {},
        secretHeaders: body.secret_headers ?? [],
        ...(body.timeout === undefined ? {} : { timeout: toDuration(body.timeout) }),
        signatureAlias: body.signature_alias ?? '',
        filter: body.filter ? JSON.stringify(body.filter) : '',
        ...(body.retry_policy === undefined ? {} : { retryPolicy: toRetryPolicyMessage(body.retry_policy) }),
        ...(body.rate_limit === undefined ? {} : { rateLimit: toRateLimitMessage(body.rate_limit) }),
        idempotencyKey,
        ...(maxWebhooks === undefined ? {} : { maxWebhooks }),
      },
      { context: context() },
    );
    return oneResponse(201, oneWebhookOf(webhook, undefined, secret), replayed);
  },
});

/** Pages show more of the health than the API, where it would change the ETag as time passes. */
const fullHealth = { full_health: flag };

/** Query of an endpoint that shows webhooks: whether it shows their full health. */
interface HealthQuery {
  readonly full_health?: 'true' | 'false' | undefined;
}

const getWebhook = defineEndpoint<HealthQuery | undefined, unknown>({
  method: 'get',
  path: '/v1/webhooks/{id}',
  operationId: 'getWebhook',
  summary: 'Get a webhook',
  tag: 'Webhooks',
  permission: 'webhooks:read',
  conditional: true,
  queryOfUsers: z.strictObject(fullHealth),
  success: { status: 200, description: 'The webhook, without its secret.', schema: oneWebhook },
  async handle(call) {
    const { context, id, query, tenant, backend, signal } = call;
    checkId('wh', id);
    const { workspaceId, environment } = tenant;
    const options = { context: context(), signal: signal() };
    const [{ webhook }, healths] = await Promise.all([
      backend.webhooks.getWebhook({ workspaceId, environment, id }, options),
      readHealth(call, [id], options),
    ]);
    const json = JSON.stringify(documentFor(query)(webhook, healths.get(id)));
    return oneResponse(200, { json, version: webhook?.version ?? 0n });
  },
});

const listQuery = z.strictObject({ ...pageQuery, ...webhookFilters });
const listQueryOfUsers = listQuery.extend(fullHealth);

const listWebhooks = defineEndpoint<z.infer<typeof listQueryOfUsers>, unknown>({
  method: 'get',
  path: '/v1/webhooks',
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description:
    'Newest first. If the list is filtered by `status` or `health`, a page can have ' +
    'fewer items than `per_page`, because each request reads at most 100,000 webhooks.',
  tag: 'Webhooks',
  permission: 'webhooks:read',
  query: listQuery,
  queryOfUsers: listQueryOfUsers,
  success: { status: 200, description: 'A page of webhooks.', schema: webhookList },
  async handle(call) {
    const { context, query, tenant, backend, url, signal } = call;
    const { workspaceId, environment } = tenant;
    const options = { context: context(), signal: signal() };
    const { health } = query;
    const { totalSize, ...page } = await backend.webhooks.listWebhooks(
      {
        workspaceId,
        environment,
        pageSize: pageSizeOf(query),
        pageToken: query.cursor ?? '',
        url: query.url ?? '',
        ...(query.status === undefined ? {} : { status: webhookStatuses.toValue(query.status) }),
        ...(health === undefined ? {} : { health: healthStates.toValue(health) }),
      },
      options,
    );
    const healths = await readHealth(
      call,
      page.webhooks.map(({ id }) => id),
      options,
    );
    const toDocument = documentFor(query);
    const items = page.webhooks.map((webhook) => JSON.stringify(toDocument(webhook, healths.get(webhook.id))));
    const isFiltered = [query.url, query.status, health].some((filter) => filter !== undefined);
    return listResponse(items, { ...page, ...(isFiltered ? {} : { totalSize }) }, url(), query);
  },
});

const updateWebhook = defineEndpoint({
  method: 'patch',
  path: '/v1/webhooks/{id}',
  operationId: 'updateWebhook',
  summary: 'Update a webhook',
  description: 'Changes only the fields in the request.',
  tag: 'Webhooks',
  permission: 'webhooks:write',
  body: updateWebhookBody,
  conditional: true,
  success: { status: 200, description: 'The updated webhook.', schema: oneWebhook },
  async handle(call) {
    const { context, id, body, expectedVersions, tenant, backend } = call;
    checkId('wh', id);
    const { workspaceId, environment } = tenant;
    const { url, events, status, description, ordered, retry_policy: retryPolicy, rate_limit: rateLimit } = body;
    const { headers, secret_headers: secretHeaders, timeout, signature_alias: signatureAlias, filter } = body;
    const { webhook } = await backend.webhooks.updateWebhook(
      {
        workspaceId,
        environment,
        id,
        expectedVersions,
        ...(url === undefined ? {} : { url }),
        ...(events === undefined ? {} : { events: { types: events } }),
        ...(status === undefined ? {} : { status: webhookStatuses.toValue(status) }),
        ...(description === undefined ? {} : { description }),
        ...(ordered === undefined ? {} : { ordered }),
        ...(headers === undefined ? {} : { headers: { values: headers } }),
        ...(secretHeaders === undefined ? {} : { secretHeaders: { names: secretHeaders } }),
        ...(timeout === undefined ? {} : { timeout: toDuration(timeout) }),
        ...(signatureAlias === undefined ? {} : { signatureAlias: signatureAlias ?? '' }),
        ...(filter === undefined ? {} : { filter: filter ? JSON.stringify(filter) : '' }),
        ...(retryPolicy === undefined ? {} : { retryPolicy: toRetryPolicyMessage(retryPolicy) }),
        ...(rateLimit === undefined ? {} : { rateLimit: toRateLimitMessage(rateLimit) }),
      },
      { context: context() },
    );
    const healths = await readHealth(call, [id], { context: context() });
    return oneResponse(200, oneWebhookOf(webhook, healths.get(id)));
  },
});

const deleteWebhook = defineEndpoint({
  method: 'delete',
  path: '/v1/webhooks/{id}',
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Its pending deliveries end as `failed`.',
  tag: 'Webhooks',
  permission: 'webhooks:write',
  conditional: true,
  success: { status: 204, description: 'The webhook was deleted.' },
  async handle({ context, id, expectedVersions, tenant, backend }) {
    checkId('wh', id);
    const { workspaceId, environment } = tenant;
    await backend.webhooks.deleteWebhook({ workspaceId, environment, id, expectedVersions }, { context: context() });
    return { status: 204 };
  },
});

const pauseWebhook = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks/{id}/pause',
  operationId: 'pauseWebhook',
  summary: 'Pause a webhook',
  description:
    'The webhook keeps its queue and gets deliveries of new events. None is attempted until it is resumed, except ' +
    'attempts that have already been taken. 409 if the webhook is disabled.',
  tag: 'Webhooks',
  permission: 'webhooks:write',
  idempotent: true,
  conditional: true,
  success: { status: 200, description: 'The paused webhook.', schema: oneWebhook },
  handle: (call) => changeStatus(call, (...sent) => call.backend.webhooks.pauseWebhook(...sent)),
});

const resumeWebhook = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks/{id}/resume',
  operationId: 'resumeWebhook',
  summary: 'Resume a webhook',
  description: 'The queued deliveries of a paused webhook are attempted. 409 if the webhook is disabled.',
  tag: 'Webhooks',
  permission: 'webhooks:write',
  idempotent: true,
  conditional: true,
  success: { status: 200, description: 'The active webhook.', schema: oneWebhook },
  handle: (call) => changeStatus(call, (...sent) => call.backend.webhooks.resumeWebhook(...sent)),
});

/** Pauses or resumes a webhook, and returns it. */
async function changeStatus(
  call: Call<unknown, unknown>,
  send: (
    request: Call<unknown, unknown>['tenant'] & { readonly id: string; readonly idempotencyKey: string },
    options: CallOptions,
  ) => Promise<{ readonly webhook?: Webhook | undefined; readonly replayed: boolean }>,
): Promise<Response> {
  const { context, id, tenant, idempotencyKey } = call;
  checkId('wh', id);
  const { webhook, replayed } = await send({ ...tenant, id, idempotencyKey }, { context: context() });
  const healths = await readHealth(call, [id], { context: context() });
  return oneResponse(200, oneWebhookOf(webhook, healths.get(id)), replayed);
}

const defaultOverlapSeconds = 86_400;
const maxOverlapSeconds = 7 * 86_400;

const rotateSecret = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks/{id}/rotate_secret',
  operationId: 'rotateWebhookSecret',
  summary: 'Rotate the signing secret',
  description:
    'During the overlap, deliveries are signed with both secrets (`webhook-signature`). The response contains the new ' +
    'secret, which is shown only once. If another API key repeats the Idempotency-Key, its response does not contain ' +
    'the secret.',
  tag: 'Webhooks',
  permission: 'webhooks:write',
  idempotent: true,
  optionalBody: true,
  body: z
    .strictObject({
      overlap: seconds(0, maxOverlapSeconds)
        .optional()
        .describe('Seconds during which deliveries are also signed with the previous secret.')
        .meta({ override: { default: defaultOverlapSeconds } }),
    })
    .meta({ id: 'RotateWebhookSecret', example: { overlap: 3_600 } }),
  success: { status: 200, description: 'The new secret.', schema: oneRotatedSecret },
  async handle({ context, id, body, tenant, idempotencyKey, backend }) {
    checkId('wh', id);
    const { workspaceId, environment } = tenant;
    const { webhook, secret, replayed } = await backend.webhooks.rotateSecret(
      { workspaceId, environment, id, overlap: toDuration(body.overlap ?? defaultOverlapSeconds), idempotencyKey },
      { context: context() },
    );
    const json = oneJson(JSON.stringify(rotatedSecretDocument(webhook, secret)));
    return { status: 200, json, headers: replayedHeader(replayed) };
  },
});

/** Longer than the 30 seconds within which an endpoint must respond. */
const timeoutMs = 35_000;

const testWebhook = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks/{id}/test',
  operationId: 'testWebhook',
  summary: 'Send a test event',
  description:
    'Sends a sample event immediately, regardless of the status of the webhook, and returns the attempt. The attempt is ' +
    'not retried. The delivery log has it as a test delivery, which no success rate or alert counts. ' +
    'At most 10 tests per minute, workspace and environment. ' +
    'The response can take more than 30 seconds.',
  tag: 'Webhooks',
  permission: 'deliveries:write',
  idempotent: true,
  optionalBody: true,
  body: z
    .strictObject({
      event_type: z
        .enum(eventTypes)
        .optional()
        .describe('Type of the sample event, which the webhook must receive. Default: the first such type.'),
    })
    .meta({ id: 'TestWebhook', example: { event_type: 'resource.updated' } }),
  success: {
    status: 200,
    description: 'The attempt, whether it succeeded or not.',
    schema: z.strictObject({ data: testAttempt }),
  },
  async handle({ context, id, body, tenant, idempotencyKey, backend }) {
    checkId('wh', id);
    const { workspaceId, environment } = tenant;
    const response = await backend.webhooks.testWebhook(
      { workspaceId, environment, id, eventType: body.event_type ?? '', idempotencyKey },
      { context: context(), timeoutMs },
    );
    const { attempt, replayed } = response;
    if (!attempt) throw new Error('the webhooks service returned no attempt');
    const json = oneJson(JSON.stringify(testAttemptDocument(attempt, response)));
    return { status: 200, json, headers: replayedHeader(replayed) };
  },
});

function documentFor(query: HealthQuery | undefined) {
  return query?.full_health === 'true' ? fullWebhookDocument : webhookDocument;
}

/** The literal path stands before the paths with `{id}`, which match it too. */
export const webhookEndpoints = [
  createWebhook,
  testFilter,
  getWebhook,
  listWebhooks,
  updateWebhook,
  deleteWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateSecret,
  testWebhook,
];
