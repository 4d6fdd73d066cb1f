import { isId } from '@rms/base/ids';
import { toScope } from '@rms/base/tenant';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { incidentStates, toIncidentMessage } from '../incident/incident-message.ts';
import { listIncidents as readIncidents } from '../incident/incident-queries.ts';
import { fromKindMessage } from '../rule/rule-message.ts';
import { type HandlerParts, refuse } from './handler.ts';

const maxPageSize = 100;

/**
 * Returns a page of incidents. The page token is the ID of the last incident. It needs no protection because a caller
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
