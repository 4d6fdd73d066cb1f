import { type IdPrefix, isId, mustBeId } from '@rms/ids';
import { timestampFromMs } from '@rms/rpc';
import { z } from 'zod';
import { deliveryDocument, deliveryStatuses } from '../documents/delivery.ts';
import { tenantEndpoint } from './endpoint.ts';

const text = z.string().max(300).optional();
const id = (prefix: IdPrefix) =>
  z
    .string()
    .refine((value) => isId(prefix, value), mustBeId(prefix))
    .optional();
const time = z.iso.datetime().optional();
const statusList = z
  .string()
  .max(100)
  .transform((names) => names.split(','))
  .pipe(z.array(z.enum(deliveryStatuses.names)));

/** Lists deliveries that match all given filters, newest first. */
export const listDeliveries = tenantEndpoint({
  access: 'deliveries.read',
  method: 'get',
  path: '/deliveries',
  query: z.strictObject({
    webhook: id('wh'),
    /** One or more, separated by commas. */
    status: statusList.optional(),
    type: text,
    request: text,
    resource: id('res'),
    event: id('evt'),
    /** 1: only test deliveries; 0: none. */
    test: z.enum(['0', '1']).optional(),
    since: time,
    until: time,
    cursor: z.string().max(2_000).optional(),
  }),
  async handle({ backend, tenant, query, context, signal }) {
    const { since, until } = query;
    const page = await backend.deliveries.listDeliveries(
      {
        ...tenant,
        webhookId: query.webhook ?? '',
        statuses: (query.status ?? []).map(deliveryStatuses.toValue),
        eventType: query.type ?? '',
        requestId: query.request ?? '',
        resourceId: query.resource ?? '',
        eventId: query.event ?? '',
        ...(query.test === undefined ? {} : { test: query.test === '1' }),
        ...(since ? { since: timestampFromMs(Date.parse(since)) } : {}),
        ...(until ? { until: timestampFromMs(Date.parse(until)) } : {}),
        pageSize: 50,
        pageToken: query.cursor ?? '',
      },
      { context, signal: signal() },
    );
    return { data: page.deliveries.map(deliveryDocument), next: page.nextPageToken || null };
  },
});
