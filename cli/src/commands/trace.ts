import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { deliveryDocument, listDeliveries } from '../deliveries.ts';
import { fields, print } from '../print.ts';
import { eventPassageDocument, requestDocument } from '../requests.ts';
import { timelineOf } from '../timeline.ts';
import { workspaceOf } from '../workspace.ts';

/** What became of a request, on one time line: its steps, its events and their way, their deliveries and attempts. */
export function traceCommand(): Command {
  return new Command('trace')
    .description('show what one request (its X-Request-ID) was answered and caused')
    .argument('<request-id>', 'the X-Request-ID')
    .addOption(workspaceOption())
    .action((requestId: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        // An empty one would mean any.
        if (requestId === '') throw new Error('say which request: its X-Request-ID');
        const workspaceId = await workspaceOf(services, options);
        const [known, nobodys, passages, { found }] = await Promise.all([
          services.requests.listRequests({ workspaceId, requestId }),
          // A request without a valid key is of no workspace.
          services.requests.listRequests({ workspaceId: '', requestId }),
          services.events.listEventsOfRequest({ workspaceId, requestId }),
          listDeliveries(services, { workspaceId, requestId }, Number.POSITIVE_INFINITY),
        ]);
        const requests = [...known.requests, ...nobodys.requests].map(requestDocument);
        const events = passages.events.map(eventPassageDocument);
        // Ids of events sort in the order in which the request caused them; those of deliveries of one batch do not.
        const deliveries = found.map(deliveryDocument).sort((a, b) => compare(a.event_id + a.id, b.event_id + b.id));
        if (requests.length + events.length + deliveries.length === 0) {
          throw new Error(`nothing is known of request "${requestId}"`);
        }
        const traceIds = [...new Set([...requests, ...events].flatMap(({ trace_id }) => trace_id ?? []))];
        const timeline = timelineOf({ requests, events, deliveries });
        const document = { request_id: requestId, trace_ids: traceIds, requests, events, deliveries, timeline };
        print(options, document, () => {
          const head = fields([['request', requestId], ...traceIds.map((id): [string, string] => ['trace', id])]);
          return [head, timeline.map(({ at, what }) => `${at}  ${what}`).join('\n')].join('\n\n');
        });
      }),
    );
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
