import { once } from 'node:events';
import { RmsError } from '@rms/base/errors';
import { openEventStream } from '../http/event-stream.ts';
import { Refusal } from '../http/refusal.ts';
import { tenantEndpoint } from './endpoint.ts';

/**
 * Streams new and changed deliveries as server-sent events:
 * - `changed`: a list of deliveries in the format of GET /deliveries
 * - `missed`: changes were dropped; reload the list
 * - `end`: the session is over, or the user has lost the permission
 * - `moved`: reconnect
 *
 * The ID of an event is the position to resume from (Last-Event-ID).
 */
export const tailDeliveries = tenantEndpoint({
  access: 'deliveries:read',
  method: 'get',
  path: '/deliveries/tail',
  async handle({ backend, tenant, tails, config, context, callerId, request, response, checkAgain }) {
    const waiting: (() => void)[] = [];
    let stream: ReturnType<typeof openEventStream> | undefined;
    // Events that arrive before the response head is sent are queued.
    const soon = (send: (to: ReturnType<typeof openEventStream>) => void) => {
      if (stream) send(stream);
      else waiting.push(() => stream && send(stream));
    };
    const leave = await tails.join(
      `${tenant.workspaceId} ${tenant.environment}`,
      {
        userId: callerId,
        poll: (requested) => backend.deliveries.tailDeliveries({ ...tenant, ...requested }, { context }),
        changed: (position, deliveries) =>
          soon((to) => to.send({ name: 'changed', id: `${position}`, data: JSON.stringify(deliveries) })),
        missed: (position) => soon((to) => to.send({ name: 'missed', id: `${position}`, data: '' })),
        end: () => soon((to) => to.end('moved')),
      },
      positionOf(request.headers['last-event-id']),
    );
    const check = setInterval(() => {
      checkAgain().then(
        () => stream?.beat(),
        // If auth is unavailable, the browser reconnects instead of signing out.
        (error: unknown) => stream?.end(isRefusal(error) ? 'end' : 'moved'),
      );
    }, config.tailCheckMs).unref();
    try {
      if (response.destroyed) return undefined;
      stream = openEventStream(response);
      for (const send of waiting) send();
      await once(response, 'close');
    } finally {
      clearInterval(check);
      leave();
    }
    return undefined;
  },
});

function isRefusal(error: unknown): boolean {
  if (error instanceof Refusal) return true;
  return error instanceof RmsError && (error.code === 'not_found' || error.code === 'insufficient_role');
}

/** Parses Last-Event-ID. Undefined if it is not a position. */
function positionOf(lastEventId: string | string[] | undefined): bigint | undefined {
  return typeof lastEventId === 'string' && /^\d{1,18}$/.test(lastEventId) ? BigInt(lastEventId) : undefined;
}
