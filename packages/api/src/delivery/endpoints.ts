import { eventTypes, subjectPrefixes } from '@rms/base/webhook-events';
import { z } from 'zod';
import { checkId, defineEndpoint, oneResponse } from '../endpoint.ts';
import { createdRange, idFilter, text } from '../field-schemas.ts';
import { flag, listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { toTimestamp } from '../times.ts';
import { deliveryDocument, fullDeliveryDocument } from './document.ts';
import { deliveryList, deliveryStatus, oneDelivery, oneFullDelivery } from './schema.ts';
import { deliveryStatuses } from './status.ts';

const listDeliveries = defineEndpoint({
  method: 'get',
  path: '/v1/deliveries',
  operationId: 'listDeliveries',
  summary: 'List deliveries',
  description:
    'Newest first. A page may have fewer items than `per_page`, or none, although others follow: the number of ' +
    'deliveries read for a page is limited. Follow `links.next` until it is null. `links.prev` is always null.',
  tag: 'Deliveries',
  permission: 'deliveries:read',
  query: z.strictObject({
    webhook_id: idFilter('wh').optional(),
    status: z
      .array(deliveryStatus)
      .max(deliveryStatuses.names.length)
      .optional()
      .describe('May be repeated; a delivery must have one of the statuses.'),
    event_type: z.enum(eventTypes).optional(),
    event_id: idFilter('evt').optional(),
    resource_id: idFilter(...subjectPrefixes)
      .optional()
      .describe('Resource of the event. Of an operational event: its webhook, key or workspace.'),
    request_id: text(1, 128).optional(),
    test: flag.describe('true: only test deliveries; false: none.'),
    ...createdRange,
    ...pageQuery,
  }),
  success: { status: 200, description: 'A page of deliveries.', schema: deliveryList },
  async handle({ context, query, tenant, backend, url, signal }) {
    const { workspaceId, environment } = tenant;
    const { created_after: since, created_before: until } = query;
    const pageSize = pageSizeOf(query);
    const page = await backend.deliveries.listDeliveries(
      {
        workspaceId,
        environment,
        webhookId: query.webhook_id ?? '',
        statuses: (query.status ?? []).map(deliveryStatuses.toValue),
        eventType: query.event_type ?? '',
        eventId: query.event_id ?? '',
        resourceId: query.resource_id ?? '',
        requestId: query.request_id ?? '',
        ...(query.test === undefined ? {} : { test: query.test === 'true' }),
        ...(since === undefined ? {} : { since: toTimestamp(since) }),
        ...(until === undefined ? {} : { until: toTimestamp(until) }),
        pageSize,
        pageToken: query.cursor ?? '',
      },
      { context: context(), signal: signal() },
    );
    const items = page.deliveries.map((delivery) => JSON.stringify(deliveryDocument(delivery)));
    return listResponse(items, { ...page, previousPageToken: '', pageSize }, url(), query);
  },
});

const getDelivery = defineEndpoint({
  method: 'get',
  path: '/v1/deliveries/{id}',
  operationId: 'getDelivery',
  summary: 'Get a delivery with its attempts',
  tag: 'Deliveries',
  permission: 'deliveries:read',
  conditional: true,
  success: { status: 200, description: 'The delivery with all stored attempts.', schema: oneFullDelivery },
  async handle({ context, id, tenant, backend, signal }) {
    checkId('dlv', id);
    const { workspaceId, environment } = tenant;
    const found = await backend.deliveries.getDelivery(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    return oneResponse(200, { json: JSON.stringify(fullDeliveryDocument(found)) });
  },
});

const redeliverDelivery = defineEndpoint({
  method: 'post',
  path: '/v1/deliveries/{id}/redeliver',
  operationId: 'redeliverDelivery',
  summary: 'Redeliver a delivery',
  description:
    'Sends the event again, with all retries of the webhook. The next attempt of a pending or retrying delivery starts ' +
    'immediately. If an attempt is in flight, the next one follows if it fails. The webhook must be active.',
  tag: 'Deliveries',
  permission: 'deliveries:write',
  idempotent: true,
  conditional: true,
  success: { status: 202, description: 'The delivery. Its next attempt is due.', schema: oneDelivery },
  async handle({ context, id, tenant, idempotencyKey, backend }) {
    checkId('dlv', id);
    const { workspaceId, environment } = tenant;
    const { delivery, replayed } = await backend.deliveries.redeliverDelivery(
      { workspaceId, environment, id, idempotencyKey },
      { context: context() },
    );
    return oneResponse(202, { json: JSON.stringify(deliveryDocument(delivery)) }, replayed);
  },
});

const cancelDelivery = defineEndpoint({
  method: 'post',
  path: '/v1/deliveries/{id}/cancel',
  operationId: 'cancelDelivery',
  summary: 'Cancel a delivery',
  description:
    'Ends a pending or retrying delivery; 409 if it has ended. An attempt that is in flight is recorded when it ends; if ' +
    'it succeeds, the delivery is `delivered`. No other attempt follows, unless the delivery is redelivered.',
  tag: 'Deliveries',
  permission: 'deliveries:write',
  idempotent: true,
  conditional: true,
  success: { status: 200, description: 'The canceled delivery.', schema: oneDelivery },
  async handle({ context, id, tenant, idempotencyKey, backend }) {
    checkId('dlv', id);
    const { workspaceId, environment } = tenant;
    const { delivery, replayed } = await backend.deliveries.cancelDelivery(
      { workspaceId, environment, id, idempotencyKey },
      { context: context() },
    );
    return oneResponse(200, { json: JSON.stringify(deliveryDocument(delivery)) }, replayed);
  },
});

export const deliveryEndpoints = [listDeliveries, getDelivery, redeliverDelivery, cancelDelivery];
