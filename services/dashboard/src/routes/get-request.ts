import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { z } from 'zod';
import { answerOf, beginningOf, deliveryStepsOf, passageOf, type RequestDocument } from '../documents/request.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Deliveries of one request that are shown; one that has more has changed very much. */
const mostDeliveries = 200;

/** What a request was answered and caused, in the order of time. It may be nothing. */
export const getRequest = tenantEndpoint({
  access: 'requests.read',
  method: 'get',
  path: '/requests',
  query: z.strictObject({ id: z.string().min(1).max(128) }),
  async handle({ backend, tenant, query, config, context, signal }): Promise<RequestDocument> {
    const options = { context, signal: signal() };
    const asked = { ...tenant, requestId: query.id };
    const [{ requests }, { events }, { deliveries }] = await Promise.all([
      backend.requests.listRequests(asked, options),
      backend.events.listEventsOfRequest(asked, options),
      backend.deliveries.listDeliveries(
        { ...asked, status: DeliveryStatus.UNSPECIFIED, pageSize: mostDeliveries },
        options,
      ),
    ]);
    // Ids of events sort in the order in which the request caused them; those of deliveries of one batch do not.
    const inOrder = [...deliveries].sort((a, b) => (a.eventId + a.id < b.eventId + b.id ? -1 : 1));
    const steps = [
      ...requests.map(beginningOf),
      ...events.flatMap((event) => passageOf(event).slice(0, 1)),
      ...requests.map(answerOf),
      ...events.flatMap((event) => passageOf(event).slice(1)),
      ...inOrder.flatMap(deliveryStepsOf),
    ];
    const traceIds = new Set([...requests, ...events].map(({ traceId }) => traceId).filter((id) => id !== ''));
    return {
      // What happened in one millisecond stays in the order in which one follows from another.
      steps: steps.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)),
      traces: [...traceIds].map((id) => ({ id, url: config.traceUrl?.replace('{trace_id}', id) ?? null })),
    };
  },
});
