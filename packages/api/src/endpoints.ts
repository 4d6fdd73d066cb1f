import { alertChannelEndpoints } from './alert-channel/endpoints.ts';
import { alertRuleEndpoints } from './alert-rule/endpoints.ts';
import { auditEntryEndpoints } from './audit-entry/endpoints.ts';
import { deliveryEndpoints } from './delivery/endpoints.ts';
import type { Endpoint } from './endpoint.ts';
import { eventEndpoints } from './event/endpoints.ts';
import { incidentEndpoints } from './incident/endpoints.ts';
import { invitationEndpoints } from './invitation/endpoints.ts';
import { keyEndpoints } from './key/endpoints.ts';
import { memberEndpoints } from './member/endpoints.ts';
import { metricsEndpoints } from './metrics/endpoints.ts';
import { portalSessionEndpoints } from './portal-session/endpoints.ts';
import { replayEndpoints } from './replay/endpoints.ts';
import { requestEndpoints } from './request/endpoints.ts';
import { resourceEndpoints } from './resource/endpoints.ts';
import { webhookEndpoints } from './webhook/endpoints.ts';
import { webhookCertificateEndpoints } from './webhook-certificate/endpoints.ts';
import { workspaceEndpoints } from './workspace/endpoints.ts';

/** All endpoints of the API, in the OpenAPI document's order. */
export const endpoints: readonly Endpoint[] = [
  ...resourceEndpoints,
  ...webhookEndpoints,
  ...webhookCertificateEndpoints,
  ...eventEndpoints,
  ...deliveryEndpoints,
  ...replayEndpoints,
  ...portalSessionEndpoints,
  ...requestEndpoints,
  ...metricsEndpoints,
  ...alertRuleEndpoints,
  ...incidentEndpoints,
  ...alertChannelEndpoints,
  ...keyEndpoints,
  ...memberEndpoints,
  ...invitationEndpoints,
  ...workspaceEndpoints,
  ...auditEntryEndpoints,
];
