import { isId } from '@rms/ids';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { incidentStates, toIncidentMessage } from '../incident/incident-message.ts';
import { listIncidents as readIncidents } from '../incident/incident-queries.ts';
import { kindNames } from '../rule/rule-message.ts';
import { checkWorkspace, toEnvironments } from '../tenant.ts';
import { type HandlerParts, refuse, translated } from './handler.ts';

const largestPage = 100;

/** The page token is the id of the last incident: whoever may list may see all of them. */
export function listIncidents({ pool }: HandlerParts): Handlers<typeof AlertsService>['listIncidents'] {
  return ({ workspaceId, environment, state, kind, pageSize, pageToken }) =>
    translated(async () => {
      if (pageSize < 1 || pageSize > largestPage) refuse('page_size', `must be 1 to ${largestPage}`);
      if (pageToken !== '' && !isId('inc', pageToken)) refuse('page_token', 'is not of this list');
      const rows = await readIncidents(pool, {
        workspaceId: checkWorkspace(workspaceId),
        environments: toEnvironments(environment),
        state: incidentStates.toName(state),
        kind:
          kind === AlertKind.UNSPECIFIED
            ? undefined
            : (kindNames.toName(kind) ?? refuse('kind', 'must be one of the kinds')),
        before: pageToken || undefined,
        limit: pageSize + 1,
      });
      const incidents = rows.slice(0, pageSize);
      return {
        incidents: incidents.map(toIncidentMessage),
        nextPageToken: rows.length > pageSize ? (incidents.at(-1)?.id ?? '') : '',
      };
    });
}
