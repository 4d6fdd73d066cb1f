import { once } from 'node:events';
import { RmsError } from '@rms/errors';
import { openEventStream } from '../http/event-stream.ts';
import { Refusal } from '../http/refusal.ts';
import { tenantEndpoint } from './endpoint.ts';

/** How often it is looked whether the session still stands; and a sign of life. */
const checkEveryMs = 10_000;

/**
 * Server-sent events: deliveries that are new or fare otherwise than before, as they come.
 * - `changed`: a list of deliveries, as GET /deliveries has them
 * - `missed`: more has happened than is told; the list has it
 * - `end`: the session or the role has ended; `moved`: connect again
 *
 * The id of each is where to go on (Last-Event-ID).
 */
export const tailDeliveries = tenantEndpoint({
  access: 'deliveries.read',
  method: 'get',
  path: '/deliveries/tail',
  async handle({ backend, tenant, tails, context, who, request, response, checkAgain }) {
    const waiting: (() => void)[] = [];
    let stream: ReturnType<typeof openEventStream> | undefined;
    // What comes before the head is on its way goes after it.
    const soon = (send: (to: ReturnType<typeof openEventStream>) => void) => {
      if (stream) send(stream);
      else waiting.push(() => stream && send(stream));
    };
    const leave = await tails.join(
      `${tenant.workspaceId} ${tenant.environment}`,
      {
        userId: who.user.id,
        look: (asked) => backend.deliveries.tailDeliveries({ ...tenant, ...asked }, { context }),
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
        // While auth is away nobody is signed out: they come again.
        (error: unknown) => stream?.end(isRefusal(error) ? 'end' : 'moved'),
      );
    }, checkEveryMs).unref();
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

/** Undefined: none of ours. */
function positionOf(lastEventId: string | string[] | undefined): bigint | undefined {
  return typeof lastEventId === 'string' && /^\d{1,18}$/.test(lastEventId) ? BigInt(lastEventId) : undefined;
}
