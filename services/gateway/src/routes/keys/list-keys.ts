import { KeyStatus } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { z } from 'zod';
import { defineEndpoint } from '../shared/endpoint.ts';
import { listOf, listResponse, noTotal, pageQuery, pageSizeOf } from '../shared/list.ts';
import { text } from '../shared/text-schemas.ts';
import { keyJson } from './key-json.ts';
import { listedKey, statusNames } from './key-schemas.ts';

const path = '/v1/api_keys';

const statusMessages = {
  active: KeyStatus.ACTIVE,
  expired: KeyStatus.EXPIRED,
  revoked: KeyStatus.REVOKED,
  rolled: KeyStatus.ROLLED,
} as const;

export const listKeys = defineEndpoint({
  method: 'get',
  path,
  operationId: 'listApiKeys',
  summary: 'List API keys',
  description:
    'Newest first. With a filter, a page can have fewer items than `per_page`, or none, although `links.next` is ' +
    'set, because each request reads at most 10,000 keys.',
  tag: 'API keys',
  scope: 'admin',
  query: z.strictObject({
    status: z.enum(statusNames).optional().describe('Only keys with this status.'),
    name: text(1, 100).optional().describe('Only keys whose name contains this text (case-insensitive).'),
    ...pageQuery,
  }),
  success: {
    status: 200,
    description: 'A page of keys.',
    schema: listOf(listedKey, noTotal).meta({ id: 'ApiKeyList' }),
  },
  async handle({ context, query, principal, backend, baseUrl, signal }) {
    const { workspaceId, environment } = principal;
    const { keys, ...page } = await backend.keys.listKeys(
      {
        workspaceId,
        environment,
        status: query.status ? statusMessages[query.status] : KeyStatus.UNSPECIFIED,
        namePart: query.name ?? '',
        pageSize: pageSizeOf(query),
        pageToken: query.cursor ?? '',
      },
      { context: context(), signal: signal() },
    );
    const items = keys.map((key) => keyJson(key));
    return listResponse(items, page, baseUrl() + path, query);
  },
});
