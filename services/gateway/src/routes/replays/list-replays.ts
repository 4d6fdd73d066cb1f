import { z } from 'zod';
import { defineEndpoint } from '../shared/endpoint.ts';
import { listResponse, pageQuery, pageSizeOf } from '../shared/list.ts';
import { replayJson } from './replay-json.ts';
import { replayList } from './replay-schemas.ts';

const path = '/v1/replays';

export const listReplays = defineEndpoint({
  method: 'get',
  path,
  operationId: 'listReplays',
  summary: 'List replays',
  description: 'Newest first.',
  tag: 'Replays',
  scope: 'admin',
  query: z.strictObject(pageQuery),
  success: { status: 200, description: 'A page of replays.', schema: replayList },
  async handle({ context, query, principal, backend, baseUrl, signal }) {
    const { workspaceId, environment } = principal;
    const pageSize = pageSizeOf(query);
    const page = await backend.deliveries.listReplays(
      { workspaceId, environment, pageSize, pageToken: query.cursor ?? '' },
      { context: context(), signal: signal() },
    );
    return listResponse(page.replays.map(replayJson), { ...page, pageSize }, baseUrl() + path, query);
  },
});
