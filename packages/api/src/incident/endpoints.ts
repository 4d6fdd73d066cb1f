import { AlertKind, type Incident } from '@rms/proto/rms/alerts/v1/alert_pb';
import { z } from 'zod';
import { alertKindMessages } from '../alert-rule/document.ts';
import { alertsOf } from '../backend.ts';
import { checkId, defineEndpoint, type OneObject, oneResponse } from '../endpoint.ts';
import { text } from '../field-schemas.ts';
import { listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { toTimestamp } from '../times.ts';
import { incidentDocument, withStatus } from './document.ts';
import { incidentKind, incidentList, incidentStatus, muteIncidentBody, oneIncident } from './schema.ts';

const maxSubjectLength = 128;

const listIncidents = defineEndpoint({
  method: 'get',
  path: '/v1/incidents',
  operationId: 'listIncidents',
  summary: 'List incidents',
  description: 'Newest first.',
  tag: 'Alerts',
  permission: 'alerts:read',
  query: z.strictObject({
    status: incidentStatus.optional().describe('Only incidents with this status.'),
    kind: incidentKind.optional().describe('Only incidents of this rule.'),
    subject_id: text(1, maxSubjectLength).optional().describe('Only incidents of this webhook, key or quota.'),
    ...pageQuery,
  }),
  success: { status: 200, description: 'A page of incidents.', schema: incidentList },
  async handle({ context, query, tenant, backend, url, signal }) {
    const { workspaceId, environment } = tenant;
    const pageSize = pageSizeOf(query);
    const page = await alertsOf(backend).listIncidents(
      {
        workspaceId,
        environment,
        ...withStatus(query.status),
        kind: query.kind ? alertKindMessages.toValue(query.kind) : AlertKind.UNSPECIFIED,
        subjectId: query.subject_id ?? '',
        pageSize,
        pageToken: query.cursor ?? '',
      },
      { context: context(), signal: signal() },
    );
    return listResponse(
      page.incidents.map((incident) => JSON.stringify(incidentDocument(incident))),
      { ...page, pageSize },
      url(),
      query,
    );
  },
});

const getIncident = defineEndpoint({
  method: 'get',
  path: '/v1/incidents/{id}',
  operationId: 'getIncident',
  summary: 'Get an incident',
  tag: 'Alerts',
  permission: 'alerts:read',
  conditional: true,
  success: { status: 200, description: 'The incident.', schema: oneIncident },
  async handle({ context, id, tenant, backend, signal }) {
    checkId('inc', id);
    const { workspaceId, environment } = tenant;
    const { incident } = await alertsOf(backend).getIncident(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    return oneResponse(200, oneIncidentOf(incident));
  },
});

const acknowledgeIncident = defineEndpoint({
  method: 'post',
  path: '/v1/incidents/{id}/acknowledge',
  operationId: 'acknowledgeIncident',
  summary: 'Acknowledge an incident',
  description:
    'Ends the daily reminders about an open incident, and acknowledges it in PagerDuty. The recovery is still reported.',
  tag: 'Alerts',
  permission: 'alerts:write',
  idempotent: true,
  conditional: true,
  success: { status: 200, description: 'The incident.', schema: oneIncident },
  async handle({ context, id, tenant, idempotencyKey, backend }) {
    checkId('inc', id);
    const { workspaceId, environment } = tenant;
    const { incident, replayed } = await alertsOf(backend).acknowledgeIncident(
      { workspaceId, environment, id, idempotencyKey },
      { context: context() },
    );
    return oneResponse(200, oneIncidentOf(incident), replayed);
  },
});

const muteIncident = defineEndpoint({
  method: 'post',
  path: '/v1/incidents/{id}/mute',
  operationId: 'muteIncident',
  summary: 'Mute an incident',
  description:
    'Suppresses all messages about an open incident, also about its recovery. PagerDuty still resolves its alert.',
  tag: 'Alerts',
  permission: 'alerts:write',
  idempotent: true,
  conditional: true,
  body: muteIncidentBody,
  success: { status: 200, description: 'The incident.', schema: oneIncident },
  async handle({ context, id, body, tenant, idempotencyKey, backend }) {
    checkId('inc', id);
    const { workspaceId, environment } = tenant;
    const { until } = body;
    const { incident, replayed } = await alertsOf(backend).muteIncident(
      { workspaceId, environment, id, idempotencyKey, ...(until === null ? {} : { untilTime: toTimestamp(until) }) },
      { context: context() },
    );
    return oneResponse(200, oneIncidentOf(incident), replayed);
  },
});

function oneIncidentOf(incident: Incident | undefined): OneObject {
  if (!incident) throw new Error('alerts returned no incident');
  return { json: JSON.stringify(incidentDocument(incident)) };
}

export const incidentEndpoints = [listIncidents, getIncident, acknowledgeIncident, muteIncident];
