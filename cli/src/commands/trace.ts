import { RmsError } from '@rms/errors';
import type { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { deliveryDocument, listDeliveries } from '../deliveries.ts';
import { fields, print } from '../print.ts';
import { eventProgressDocument, requestDocument } from '../requests.ts';
import type { Services } from '../services.ts';
import { timelineOf } from '../timeline.ts';
import { workspaceWith } from '../workspace.ts';

/** Shows one request on a timeline: its steps, its events, their deliveries and the attempts. */
export function define(trace: Command): void {
  trace.addOption(workspaceOption()).action((requestId: string, options: { workspace?: string; json?: boolean }) =>
    withServices(['workspaces', 'requests', 'events', 'deliveries', 'lookup', 'webhooksLookup'], async (services) => {
      // An empty ID would match every request.
      if (requestId === '') throw new Error('The request ID must not be empty.');
      const workspaceId = await workspaceOfRequest(services, options, requestId);
      const [known, unattributed, progress, { found }] = await Promise.all([
        workspaceId === undefined ? { requests: [] } : services.requests.listRequests({ workspaceId, requestId }),
        // Requests without a valid key belong to no workspace.
        services.requests.listRequests({ workspaceId: '', requestId }),
        workspaceId === undefined ? { events: [] } : services.events.listEventsOfRequest({ workspaceId, requestId }),
        workspaceId === undefined
          ? { found: [] }
          : listDeliveries(services, { workspaceId, requestId }, Number.POSITIVE_INFINITY),
      ]);
      const requests = [...known.requests, ...unattributed.requests].map(requestDocument);
      const events = progress.events.map(eventProgressDocument);
      // Event IDs sort in causal order. Delivery IDs within a batch do not.
      const deliveries = found.map(deliveryDocument).sort((a, b) => compare(a.event_id + a.id, b.event_id + b.id));
      if (requests.length + events.length + deliveries.length === 0) {
        throw new Error(`No record of request "${requestId}".`);
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

/** Returns the workspace of a request; undefined if it belongs to none. */
async function workspaceOfRequest(
  services: Pick<Services, 'workspaces' | 'lookup' | 'webhooksLookup'>,
  options: { workspace?: string },
  requestId: string,
): Promise<string | undefined> {
  try {
    return await workspaceWith(services, options, [services.lookup, services.webhooksLookup], requestId);
  } catch (error) {
    const isUnknown = error instanceof RmsError && error.code === 'not_found';
    if (isUnknown && options.workspace === undefined) return undefined;
    throw error;
  }
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
