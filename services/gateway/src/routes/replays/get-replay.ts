import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { oneReplayOf } from './replay-json.ts';
import { oneReplay } from './replay-schemas.ts';

export const getReplay = defineEndpoint({
  method: 'get',
  path: '/v1/replays/{id}',
  operationId: 'getReplay',
  summary: 'Get a replay with its progress',
  tag: 'Replays',
  scope: 'admin',
  conditional: true,
  success: { status: 200, description: 'The replay.', schema: oneReplay },
  async handle({ context, id, principal, backend, signal }) {
    checkId('rpl', id);
    const { workspaceId, environment } = principal;
    const { replay } = await backend.deliveries.getReplay(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    return oneResponse(200, oneReplayOf(replay));
  },
});
