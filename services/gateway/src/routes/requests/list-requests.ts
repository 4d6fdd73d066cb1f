import { z } from 'zod';
import { defineEndpoint } from '../shared/endpoint.ts';
import { listResponse, pageQuery, pageSizeOf } from '../shared/list.ts';
import { idFilter, text } from '../shared/text-schemas.ts';
import { createdRange, toTimestamp } from '../shared/time-schemas.ts';
import { requestDocument } from './request-json.ts';
import { requestList } from './request-schemas.ts';

const path = '/v1/requests';
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const status = z
  .string()
  .regex(/^(?:[45]xx|[1-5]\d\d)$/, 'must be 4xx, 5xx or a status such as 404')
  .describe('`4xx`, `5xx` or a status.')
  .meta({ examples: ['4xx'] });

export const listRequests = defineEndpoint({
  method: 'get',
  path,
  operationId: 'listRequests',
  summary: 'List recent requests',
  description:
    'API requests of the workspace and environment, and changes in the dashboard, newest first. They are recorded within ' +
    'seconds and kept for some days (REQUEST_LOG_DAYS); an installation may record only writes and failed reads ' +
    '(REQUEST_LOG). Above 100 per minute and gateway, requests that get 401, 403 or 429 are only counted, and so are ' +
    'requests above 1,000,000 per day (`meta.left_out`). Requests without a valid key are not recorded. A page may have fewer items than `per_page`, or none, although others follow: the number of ' +
    'requests read for a page is limited. Follow `links.next` until it is null.',
  tag: 'Requests',
  scope: 'admin',
  query: z.strictObject({
    method: z.enum(methods).optional(),
    route: text(1, 200).optional().describe('For example `/v1/resources/{id}`.'),
    status: status.optional(),
    api_key_id: idFilter('key').optional(),
    ...createdRange,
    ...pageQuery,
  }),
  success: { status: 200, description: 'A page of requests.', schema: requestList },
  async handle({ context, query, principal, backend, baseUrl, signal }) {
    const { workspaceId, environment } = principal;
    const { created_after: since, created_before: until } = query;
    const page = await backend.requests.searchRequests(
      {
        workspaceId,
        environment,
        method: query.method ?? '',
        route: query.route?.replaceAll(/\{(\w+)\}/g, ':$1') ?? '',
        ...statusRangeOf(query.status),
        keyId: query.api_key_id ?? '',
        ...(since === undefined ? {} : { since: toTimestamp(since) }),
        ...(until === undefined ? {} : { until: toTimestamp(until) }),
        pageSize: pageSizeOf(query),
        pageToken: query.cursor ?? '',
      },
      { context: context(), signal: signal() },
    );
    const items = page.requests.map((request) => JSON.stringify(requestDocument(request)));
    return listResponse(items, page, baseUrl() + path, query, { left_out: Number(page.leftOut) });
  },
});

function statusRangeOf(status: string | undefined) {
  if (status === undefined) return {};
  const least = Number(status.replace('xx', '00'));
  return { minStatus: least, maxStatus: status.endsWith('xx') ? least + 99 : least };
}
