import { RmsError } from '@rms/errors';
import { idTime, isId } from '@rms/ids';
import { timestampFromMs } from '@rms/rpc';
import type { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { type EntryDocument, entryDocument } from '../audit.ts';
import { withServices } from '../connect.ts';
import { deliveryDocument, listDeliveries } from '../deliveries.ts';
import { takePages } from '../pages.ts';
import { fields, print } from '../print.ts';
import { eventProgressDocument, requestDocument } from '../requests.ts';
import type { Services } from '../services.ts';
import { timelineOf } from '../timeline.ts';
import { workspaceWith } from '../workspace.ts';

/** Shows one request on a timeline: its steps, its changes, its events, their deliveries and the attempts. */
export function define(trace: Command): void {
  trace.addOption(workspaceOption()).action((requestId: string, options: { workspace?: string; json?: boolean }) =>
    withServices(
      ['workspaces', 'requests', 'events', 'deliveries', 'audit', 'lookup', 'webhooksLookup'],
      async (services) => {
        // An empty ID would match every request.
        if (requestId === '') throw new Error('The request ID must not be empty.');
        const workspaceId = await workspaceOfRequest(services, options, requestId);
        const [known, progress, { found }, changes] = await Promise.all([
          workspaceId === undefined
            ? { requests: [], leftOut: 0n }
            : services.requests.listRequests({ workspaceId, requestId }),
          workspaceId === undefined ? { events: [] } : services.events.listEventsOfRequest({ workspaceId, requestId }),
          workspaceId === undefined
            ? { found: [] }
            : listDeliveries(services, { workspaceId, requestId }, Number.POSITIVE_INFINITY),
          changesOf(services, workspaceId, requestId),
        ]);
        const requests = known.requests.map(requestDocument);
        const events = progress.events.map(eventProgressDocument);
        // Event IDs sort in causal order. Delivery IDs within a batch do not.
        const deliveries = found.map(deliveryDocument).sort((a, b) => compare(a.event_id + a.id, b.event_id + b.id));
        if (requests.length + events.length + deliveries.length + changes.length === 0) {
          const hint = known.leftOut > 0n ? ` ${known.leftOut} requests of the workspace were only counted.` : '';
          throw new Error(`No record of request "${requestId}".${hint}`);
        }
        const traceIds = [...new Set([...requests, ...events].flatMap(({ trace_id }) => trace_id ?? []))];
        const timeline = timelineOf({ requests, events, deliveries, changes });
        const document = {
          request_id: requestId,
          trace_ids: traceIds,
          requests,
          events,
          deliveries,
          changes,
          timeline,
        };
        print(options, document, () => {
          const head = fields([['request', requestId], ...traceIds.map((id): [string, string] => ['trace', id])]);
          return [head, timeline.map(({ at, what }) => `${at}  ${what}`).join('\n')].join('\n\n');
        });
      },
    ),
  );
}

/** An audit entry is written while its request runs. Margins for differences between clocks. */
const beforeMs = 60_000;
const afterMs = 3_600_000;
const maxChanges = 1_000;

/**
 * Returns the audit entries of a request, of the workspace and of the installation, oldest first. The time comes from
 * the request ID, so an ID that a client has chosen finds none.
 */
async function changesOf(
  { audit }: Pick<Services, 'audit'>,
  workspaceId: string | undefined,
  requestId: string,
): Promise<EntryDocument[]> {
  if (!isId('req', requestId)) return [];
  const atMs = idTime(requestId);
  const filter = { sinceTime: timestampFromMs(atMs - beforeMs), untilTime: timestampFromMs(atMs + afterMs) };
  const lists = [...new Set([workspaceId ?? '', ''])].map((id) =>
    takePages(maxChanges, async (page) => {
      const { entries, nextPageToken } = await audit.listAuditEntries({ workspaceId: id, ...filter, ...page });
      return { items: entries.filter((entry) => entry.requestId === requestId), nextPageToken };
    }),
  );
  const found = (await Promise.all(lists)).flatMap((list) => list.found.map(entryDocument));
  return found.sort((a, b) => compare(a.id, b.id));
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
