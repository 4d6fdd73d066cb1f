import { RmsError } from '@rms/errors';
import { shownText } from '@rms/http';
import { defineEndpoint } from '../shared/endpoint.ts';
import { oneResponse } from '../shared/single-object.ts';
import { timeline } from './request-schemas.ts';
import { timelineJson } from './timeline.ts';

const maxDeliveries = 100;
/** X-Request-IDs that the gateway accepts from clients. */
const wellFormed = /^[A-Za-z0-9._+/=-]{8,128}$/;
const maxShownLength = 64;

export const getRequest = defineEndpoint({
  method: 'get',
  path: '/v1/requests/{request_id}',
  operationId: 'getRequest',
  summary: 'Get the timeline of a request',
  description:
    'The requests with an X-Request-ID, their events, and the deliveries of these events, with their attempts.',
  tag: 'Requests',
  scope: 'admin',
  conditional: true,
  success: { status: 200, description: 'The timeline.', schema: timeline },
  async handle({ context, id: requestId, principal, backend, signal }) {
    const unknown = (leftOut = 0n) => {
      const hint = leftOut > 0n ? ` ${leftOut} requests of this environment were only counted.` : '';
      return new RmsError('not_found', {
        message: `No record of request "${shownText(requestId, maxShownLength)}".${hint}`,
      });
    };
    if (!wellFormed.test(requestId)) throw unknown();
    const { workspaceId, environment } = principal;
    const asked = { workspaceId, environment, requestId };
    const options = { context: context(), signal: signal() };
    const [{ requests, leftOut }, { events }, { deliveries, nextPageToken }] = await Promise.all([
      backend.requests.listRequests(asked, options),
      backend.events.listEventsOfRequest(asked, options),
      backend.deliveries.listDeliveries({ ...asked, pageSize: maxDeliveries, withAttempts: true }, options),
    ]);
    if (requests.length + events.length + deliveries.length === 0) throw unknown(leftOut);
    const hasMoreDeliveries = nextPageToken !== '';
    return oneResponse(200, { json: timelineJson({ requestId, requests, events, deliveries, hasMoreDeliveries }) });
  },
});
