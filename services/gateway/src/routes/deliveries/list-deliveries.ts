import { eventTypes } from '@rms/webhook-events';
import { z } from 'zod';
import { defineEndpoint } from '../shared/endpoint.ts';
import { listResponse, pageQuery, pageSizeOf } from '../shared/list.ts';
import { idFilter, text } from '../shared/text-schemas.ts';
import { createdRange, toTimestamp } from '../shared/time-schemas.ts';
import { deliveryJson } from './delivery-json.ts';
import { deliveryList, deliveryStatus, deliveryStatuses } from './delivery-schemas.ts';

const path = '/v1/deliveries';
const flag = z
  .enum(['true', 'false'])
  .optional()
  .meta({
    override: ({ jsonSchema }) => {
      delete jsonSchema.enum;
      jsonSchema.type = 'boolean';
    },
  });

export const listDeliveries = defineEndpoint({
  method: 'get',
  path,
  operationId: 'listDeliveries',
  summary: 'List deliveries',
  description:
    'Newest first. A page may have fewer items than `per_page`, or none, although others follow: the number of ' +
    'deliveries read for a page is limited. Follow `links.next` until it is null. `links.prev` is always null.',
  tag: 'Deliveries',
  scope: 'admin',
  query: z.strictObject({
    webhook_id: idFilter('wh').optional(),
    status: z
      .array(deliveryStatus)
      .max(deliveryStatuses.names.length)
      .optional()
      .describe('May be repeated; a delivery must have one of the statuses.'),
    event_type: z.enum(eventTypes).optional(),
    event_id: idFilter('evt').optional(),
    resource_id: idFilter('res').optional(),
    request_id: text(1, 128).optional(),
    test: flag.describe('true: only test deliveries; false: none.'),
    ...createdRange,
    ...pageQuery,
  }),
  success: { status: 200, description: 'A page of deliveries.', schema: deliveryList },
  async handle({ context, query, principal, backend, baseUrl, signal }) {
    const { workspaceId, environment } = principal;
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
    const items = page.deliveries.map(deliveryJson);
    return listResponse(items, { ...page, previousPageToken: '', pageSize }, baseUrl() + path, query);
  },
});
