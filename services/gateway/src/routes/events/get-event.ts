import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { eventJson } from './event-json.ts';
import { oneEvent } from './event-schemas.ts';

export const getEvent = defineEndpoint({
  method: 'get',
  path: '/v1/events/{id}',
  operationId: 'getEvent',
  summary: 'Get an event',
  tag: 'Events',
  scope: 'read',
  conditional: true,
  success: { status: 200, description: 'The event, as in the feed.', schema: oneEvent },
  async handle({ context, id, principal, backend, signal }) {
    checkId('evt', id);
    const { workspaceId, environment } = principal;
    const { event } = await backend.events.getEvent(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    if (!event) throw new Error('the webhooks service returned no event');
    return oneResponse(200, { json: eventJson(event) });
  },
});
