import { isId } from '@rms/base/ids';
import { toScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { incidentStates, toIncidentMessage } from '../incident/incident-message.ts';
import {
  type IncidentFilter,
  type IncidentRow,
  type StoredIncident,
  toIncident,
} from '../incident/incident-queries.ts';
import { fromKindMessage } from '../rule/rule-message.ts';
import { type HandlerParts, refuse } from './handler.ts';

const maxPageSize = 100;

/**
 * Returns a page of incidents. The page token is the last incident's ID. It needs no protection because a caller
 * who may list incidents may see all of them.
 */
export function listIncidents({ pool }: HandlerParts): Handlers<typeof AlertsService>['listIncidents'] {
  return async ({ workspaceId, environment, state, kind, pageSize, pageToken }) => {
    if (pageSize < 1 || pageSize > maxPageSize) refuse('page_size', `must be 1 to ${maxPageSize}`);
    if (pageToken !== '' && !isId('inc', pageToken)) refuse('page_token', 'is not a page token of this list');
    const rows = await readIncidents(pool, {
      ...toScope({ workspaceId, environment }),
      state: incidentStates.toName(state),
      kind: kind === AlertKind.UNSPECIFIED ? undefined : fromKindMessage(kind),
      before: pageToken || undefined,
      limit: pageSize + 1,
    });
    const incidents = rows.slice(0, pageSize);
    return {
      incidents: incidents.map(toIncidentMessage),
      nextPageToken: rows.length > pageSize ? (incidents.at(-1)?.id ?? '') : '',
    };
  };
}

/** Returns matching incidents, newest first. */
async function readIncidents(db: Queryable, filter: IncidentFilter): Promise<StoredIncident[]> {
  const { rows } = await db.query<IncidentRow>(
    `select incidents.*
       from unnest($2::text[]) as scope (environment) cross join lateral (
              select * from alerts.incidents
               where workspace_id = $1 and environment = scope.environment and ($3::text is null or state = $3)
                 and ($4::text is null or kind = $4) and ($5::text is null or id < $5)
               order by id desc limit $6
            ) as incidents
      order by id desc limit $6`,
    [
      filter.workspaceId,
      filter.environments,
      filter.state ?? null,
      filter.kind ?? null,
      filter.before ?? null,
      filter.limit,
    ],
  );
  return rows.map(toIncident);
}
