import { normalizeAddress } from '@rms/base/cidr';
import { RmsError } from '@rms/base/errors';
import { shownText } from '@rms/net/http';
import { actorOfUser } from '@rms/rpc';
import { z } from 'zod';
import { defineEndpoint, oneResponse } from '../endpoint.ts';
import { createdRange, idFilter, text } from '../field-schemas.ts';
import { listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { toTimestamp } from '../times.ts';
import { requestDocument } from './document.ts';
import { oneTimeline, requestList } from './schema.ts';
import { isUnknown, readTimeline, timelineDocument } from './timeline.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const status = z
  .string()
  .regex(/^[1-5](?:xx|\d\d)$/, 'must be a class such as 4xx, or a status such as 404')
  .describe('A class such as `4xx`, or a status.')
  .meta({ examples: ['4xx'] });

const errorCode = z
  .string()
  .regex(/^[a-z_]{1,64}$/, 'must be an error code, such as not_found')
  .describe('Error code of the response.')
  .meta({ examples: ['not_found'] });

const clientIp = z
  .string()
  .max(45)
  .refine((value) => normalizeAddress(value) !== undefined, 'must be an IP address')
  .describe('IPv4 or IPv6 address of the client.')
  .meta({ examples: ['203.0.113.7'] });

const listRequests = defineEndpoint({
  method: 'get',
  path: '/v1/requests',
  operationId: 'listRequests',
  summary: 'List recent requests',
  description:
    'API requests of the workspace and environment, and changes in the dashboard, newest first. They are recorded within ' +
    'seconds and kept for some days (REQUEST_LOG_DAYS); an installation may record only writes and failed reads ' +
    '(REQUEST_LOG). Above 100 per minute and gateway, requests that get 401, 403 or 429 are only counted, and so are ' +
    'requests above 1,000,000 per day (`meta.left_out`). Requests without a valid key are not recorded. With several ' +
    'filters, or one for `GET` or a successful status, a page may have fewer items than `per_page`, or none, although ' +
    'others follow: the number of requests read for a page is limited. Follow `links.next` until it is null.',
  tag: 'Requests',
  permission: 'requests:read',
  query: z.strictObject({
    method: z.enum(methods).optional(),
    route: text(1, 200).optional().describe('For example `/v1/resources/{id}`.'),
    status: status.optional(),
    error_code: errorCode.optional(),
    api_key_id: idFilter('key').optional(),
    user_id: idFilter('usr').optional().describe('Only changes that this user made in the dashboard.'),
    client_ip: clientIp.optional(),
    ...createdRange,
    ...pageQuery,
  }),
  success: { status: 200, description: 'A page of requests.', schema: requestList },
  async handle({ context, query, tenant, backend, url, signal }) {
    const { workspaceId, environment } = tenant;
    const { created_after: since, created_before: until } = query;
    const page = await backend.requests.searchRequests(
      {
        workspaceId,
        environment,
        method: query.method ?? '',
        route: query.route?.replaceAll(/\{(\w+)\}/g, ':$1') ?? '',
        ...statusRangeOf(query.status),
        errorCode: query.error_code ?? '',
        keyId: query.api_key_id ?? '',
        actor: query.user_id === undefined ? '' : actorOfUser(query.user_id),
        clientAddress: (query.client_ip && normalizeAddress(query.client_ip)) ?? '',
        ...(since === undefined ? {} : { since: toTimestamp(since) }),
        ...(until === undefined ? {} : { until: toTimestamp(until) }),
        pageSize: pageSizeOf(query),
        pageToken: query.cursor ?? '',
      },
      { context: context(), signal: signal() },
    );
    const items = page.requests.map((request) => JSON.stringify(requestDocument(request)));
    return listResponse(items, page, url(), query, { left_out: Number(page.leftOut) });
  },
});

function statusRangeOf(status: string | undefined) {
  if (status === undefined) return {};
  const least = Number(status.replace('xx', '00'));
  return { minStatus: least, maxStatus: status.endsWith('xx') ? least + 99 : least };
}

/** X-Request-IDs that the gateway accepts from clients. */
const wellFormed = /^[A-Za-z0-9._+/=-]{8,128}$/;
const maxShownLength = 64;

const getRequest = defineEndpoint({
  method: 'get',
  path: '/v1/requests/{request_id}',
  operationId: 'getRequest',
  summary: 'Get the timeline of a request',
  description:
    'The requests with an X-Request-ID, their changes and events, and the deliveries of these events, with their attempts.',
  tag: 'Requests',
  permission: 'requests:read',
  conditional: true,
  success: { status: 200, description: 'The timeline.', schema: oneTimeline },
  async handle({ context, id: requestId, tenant, may, backend, signal }) {
    const unknown = (leftOut = 0n) => {
      const hint = leftOut > 0n ? ` ${leftOut} requests of this environment were only counted.` : '';
      return new RmsError('not_found', {
        message: `No record of request "${shownText(requestId, maxShownLength)}".${hint}`,
      });
    };
    if (!wellFormed.test(requestId)) throw unknown();
    const { workspaceId, environment } = tenant;
    const options = { context: context(), signal: signal(), mayReadAudit: may('audit:read') };
    const parts = await readTimeline(backend, { workspaceId, environment, requestId }, options);
    if (isUnknown(parts)) throw unknown(parts.leftOut);
    return oneResponse(200, { json: JSON.stringify(timelineDocument(parts)) });
  },
});

export const requestEndpoints = [listRequests, getRequest];
