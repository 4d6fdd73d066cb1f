import { timestampMs } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { type Tenant, toTenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import {
  AcknowledgeIncidentResponseSchema,
  type AlertsService,
  MuteIncidentResponseSchema,
} from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { actorOf, type Handlers } from '@rms/rpc';
import { incidentEntry } from '../incident/incident-audit.ts';
import { toIncidentMessage } from '../incident/incident-message.ts';
import { findIncident, type StoredIncident } from '../incident/incident-queries.ts';
import { type Pages, reportOf } from '../notify/pages.ts';
import { refuse } from '../refuse.ts';
import { found, type HandlerParts } from './handler.ts';

type Parts = Pick<HandlerParts, 'time' | 'idempotency'>;

/** Acknowledges an open incident. An acknowledged one stays unchanged. */
export function acknowledgeIncident(
  { time, idempotency }: Parts,
  pages: Pages,
): Handlers<typeof AlertsService>['acknowledgeIncident'] {
  return async (request, context) => {
    const { id } = request;
    const once = { tenant: () => toTenant(request), operation: 'acknowledge incident', key: request.idempotencyKey };
    const tenant = toTenant(request);
    const { response, replayed } = await idempotency.once(
      { ...once, content: id },
      AcknowledgeIncidentResponseSchema,
      async (tx) => {
        const before = await lockOpen(tx, tenant, id);
        if (before.acknowledgedAtMs !== undefined) return { incident: toIncidentMessage(before) };
        const after = { ...before, acknowledgedAtMs: time.nowMs(), acknowledgedBy: actorOf(context) };
        await writeHandling(tx, after);
        await pages.queue(tx, after, [
          { change: 'acknowledged', reportId: after.reportId, incidents: [reportOf(after)] },
        ]);
        await appendAudit(tx, context, [incidentEntry('incident.acknowledged', before, after)]);
        return { incident: toIncidentMessage(after) };
      },
    );
    pages.wake();
    return { ...response, replayed };
  };
}

const maxMuteMs = 30 * 24 * 3_600_000;

/** Mutes an open incident, or ends its mute. */
export function muteIncident({ time, idempotency }: Parts): Handlers<typeof AlertsService>['muteIncident'] {
  return async (request, context) => {
    const { id, untilTime } = request;
    const untilMs = untilTime && timestampMs(untilTime);
    const tenant = toTenant(request);
    const once = { tenant: () => tenant, operation: 'mute incident', key: request.idempotencyKey };
    const { response, replayed } = await idempotency.once(
      { ...once, content: [id, untilMs ?? null] },
      MuteIncidentResponseSchema,
      async (tx) => {
        const leftMs = untilMs === undefined ? undefined : untilMs - time.nowMs();
        if (leftMs !== undefined && (leftMs <= 0 || leftMs > maxMuteMs)) {
          refuse('until', 'must be in the future, at most 30 days from now');
        }
        const before = await lockOpen(tx, tenant, id);
        const after = { ...before, mutedUntilMs: untilMs };
        await writeHandling(tx, after);
        await appendAudit(tx, context, [incidentEntry('incident.muted', before, after)]);
        return { incident: toIncidentMessage(after) };
      },
    );
    return { ...response, replayed };
  };
}

/** Locks an open incident. Throws `not_found`, and `conflict` if it is closed. */
async function lockOpen(tx: Queryable, { workspaceId, environment }: Tenant, id: string): Promise<StoredIncident> {
  const scope = { workspaceId, environments: [environment] };
  const incident = found(await findIncident(tx, scope, id, 'lock'), 'incident', id);
  if (incident.state !== 'open') throw new RmsError('conflict', { message: 'The incident is closed.' });
  return incident;
}

async function writeHandling(tx: Queryable, incident: StoredIncident): Promise<void> {
  const timeOf = (ms: number | undefined) => (ms === undefined ? null : new Date(ms));
  await tx.query(
    `update alerts.incidents set acknowledged_at = $4, acknowledged_by = $5, muted_until = $6
      where workspace_id = $1 and environment = $2 and id = $3`,
    [
      incident.workspaceId,
      incident.environment,
      incident.id,
      timeOf(incident.acknowledgedAtMs),
      incident.acknowledgedBy,
      timeOf(incident.mutedUntilMs),
    ],
  );
}
