import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { oneReplayOf } from './replay-json.ts';
import { oneReplay } from './replay-schemas.ts';

export const cancelReplay = defineEndpoint({
  method: 'post',
  path: '/v1/replays/{id}/cancel',
  operationId: 'cancelReplay',
  summary: 'Cancel a replay',
  description:
    'Deliveries that the replay has already sent again are not canceled. A replay that has ended stays unchanged.',
  tag: 'Replays',
  scope: 'admin',
  idempotent: true,
  conditional: true,
  success: { status: 200, description: 'The replay.', schema: oneReplay },
  async handle({ context, id, principal, idempotencyKey, backend }) {
    checkId('rpl', id);
    const { workspaceId, environment } = principal;
    const { replay, replayed } = await backend.deliveries.cancelReplay(
      { workspaceId, environment, id, idempotencyKey },
      { context: context() },
    );
    return oneResponse(200, oneReplayOf(replay), replayed);
  },
});
