import { type TenantScope, toScope } from '@rms/base/tenant';
import { cutPage, type PageStart, type Queryable, readPageToken, tokensOf } from '@rms/postgres/db';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Incident } from '../incident/incident.ts';
import { incidentStates, toIncidentMessage } from '../incident/incident-message.ts';
import { type IncidentRow, type StoredIncident, toIncident } from '../incident/incident-queries.ts';
import { refuse } from '../refuse.ts';
import { fromKindMessage } from '../rule/rule-message.ts';
import { type HandlerParts, maxPageSize } from './handler.ts';

/** Returns a page of incidents, newest first. */
export function listIncidents({ pool, pageTokenKeys }: HandlerParts): Handlers<typeof AlertsService>['listIncidents'] {
  return async (request) => {
    const { pageSize, pageToken, subjectId } = request;
    if (pageSize < 1 || pageSize > maxPageSize) refuse('per_page', `must be 1 to ${maxPageSize}`);
    const scope = toScope(request);
    const filter = {
      states: statesOf(request),
      kind: request.kind === AlertKind.UNSPECIFIED ? undefined : fromKindMessage(request.kind),
      subjectId: subjectId || undefined,
    };
    const binding = JSON.stringify(['incidents', scope.workspaceId, scope.environments, filter]);
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const cut = cutPage(await readIncidents(pool, scope, filter, { start, limit: pageSize + 1 }), pageSize, start);
    return {
      incidents: cut.items.map(toIncidentMessage),
      ...tokensOf(pageTokenKeys, binding, cut, start, ({ id }) => [id]),
      page: cut.page,
    };
  };
}

function statesOf({ state, closed }: Parameters<Handlers<typeof AlertsService>['listIncidents']>[0]) {
  const name = incidentStates.toName(state);
  if (closed) return incidentStates.names.filter((one) => one !== 'open');
  return name ? [name] : undefined;
}

/** Filter of a list of incidents. */
interface IncidentFilter {
  readonly states: readonly Incident['state'][] | undefined;
  readonly kind: StoredIncident['kind'] | undefined;
  readonly subjectId: string | undefined;
}

/** Returns up to `limit` matching incidents after or before `start`, newest first. */
async function readIncidents(
  db: Queryable,
  { workspaceId, environments }: TenantScope,
  { states, kind, subjectId }: IncidentFilter,
  { start, limit }: { readonly start: PageStart | undefined; readonly limit: number },
): Promise<StoredIncident[]> {
  const backwards = start?.direction === 'before';
  const order = backwards ? 'asc' : 'desc';
  const { rows } = await db.query<IncidentRow>(
    `select incidents.*
       from unnest($2::text[]) as scope (environment) cross join lateral (
              select * from alerts.incidents
               where workspace_id = $1 and environment = scope.environment and ($3::text[] is null or state = any($3))
                 and ($4::text is null or kind = $4) and ($5::text is null or subject_id = $5)
                 and ($6::text is null or id ${backwards ? '>' : '<'} $6)
               order by id ${order} limit $7
            ) as incidents
      order by id ${order} limit $7`,
    [workspaceId, environments, states ?? null, kind ?? null, subjectId ?? null, start?.keys[0] ?? null, limit],
  );
  const incidents = rows.map(toIncident);
  return backwards ? incidents.reverse() : incidents;
}
