import { toScope } from '@rms/base/tenant';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { toIncidentMessage } from '../incident/incident-message.ts';
import { findIncident } from '../incident/incident-queries.ts';
import { found, type HandlerParts } from './handler.ts';

export function getIncident({ pool }: HandlerParts): Handlers<typeof AlertsService>['getIncident'] {
  return async (request) => {
    const incident = found(await findIncident(pool, toScope(request), request.id), 'incident', request.id);
    return { incident: toIncidentMessage(incident) };
  };
}
