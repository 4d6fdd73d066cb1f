import {
  isUnknown,
  readChangesOfRequest,
  readTimeline,
  type TimelineParts,
  timelineDocument,
  unknownTimeline,
} from '@rms/api/request/timeline';
import { RmsError } from '@rms/base/errors';
import type { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { note, print } from '../print.ts';
import type { Services } from '../services.ts';
import { timelineText } from '../timeline-text.ts';
import { workspaceWith } from '../workspace.ts';

/** Shows one request on a timeline: its steps, its changes, its events, their deliveries and the attempts. */
export function define(trace: Command): void {
  trace.addOption(workspaceOption()).action((requestId: string, options: { workspace?: string; json?: boolean }) =>
    withServices(
      ['workspaces', 'requests', 'events', 'deliveries', 'audit', 'members', 'lookup', 'webhooksLookup'],
      async (services) => {
        // An empty ID would match every request.
        if (requestId === '') throw new Error('The request ID must not be empty.');
        const parts = await partsOf(services, await workspaceOfRequest(services, options, requestId), requestId);
        if (isUnknown(parts)) {
          const hint = parts.leftOut > 0n ? ` ${parts.leftOut} requests of the workspace were only counted.` : '';
          throw new Error(`No record of request "${requestId}".${hint}`);
        }
        const timeline = timelineDocument(parts);
        print(options, timeline, () => timelineText(timeline));
        if (timeline.has_more_deliveries) {
          note(`showing the newest ${timeline.deliveries.length} deliveries; deliveries list --request-id shows more`);
        }
      },
    ),
  );
}

/**
 * Reads a request's records in both environments, and the installation's changes.
 * @param workspaceId undefined: the request belongs to no workspace
 */
async function partsOf(
  services: Pick<Services, 'requests' | 'events' | 'deliveries' | 'audit' | 'members'>,
  workspaceId: string | undefined,
  requestId: string,
): Promise<TimelineParts> {
  const [parts, changes] = await Promise.all([
    workspaceId === undefined
      ? unknownTimeline(requestId)
      : readTimeline(services, { workspaceId, requestId }, { mayReadAudit: true }),
    readChangesOfRequest(services, { workspaceId: '', requestId }, {}),
  ]);
  const all = [...parts.changes, ...changes].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { ...parts, changes: all };
}

/** Returns a request's workspace; undefined if it belongs to none. */
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
