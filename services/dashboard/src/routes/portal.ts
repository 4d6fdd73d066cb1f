import { timeOf } from '@rms/api/times';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { PortalSession } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { permissionsOfPortal } from '../checks/admission.ts';
import type { OpenedPortalDocument, PortalDocument } from '../documents/portal.ts';
import { Refusal } from '../http/refusal.ts';
import { openEndpoint } from './endpoint.ts';
import { linkEndpoint } from './link-endpoint.ts';

/** Opens the session of a link, which works once. */
export const openPortal = linkEndpoint('/api/portal/open', async (call): Promise<OpenedPortalDocument> => {
  const { token: linkToken } = call.body;
  const { token, session } = await call.backend.portalSessions.openPortalSession(
    { linkToken },
    { context: call.context },
  );
  return { token, ...portalDocument(session) };
});

/** Returns a reloaded page's session. */
export const getPortal = openEndpoint({
  access: 'open',
  method: 'get',
  path: '/api/portal',
  async handle({ admission, request }): Promise<PortalDocument> {
    return portalDocument(await admission.findPortalSession(request));
  },
});

function portalDocument(session: PortalSession | undefined): PortalDocument {
  if (!session) throw new Refusal('portal_session_ended');
  const { workspaceId, environment, endTime, returnUrl, theme } = session;
  return {
    workspace: workspaceId,
    environment: fromEnvironmentMessage(environment),
    permissions: permissionsOfPortal(session),
    expires_at: timeOf(endTime),
    return_url: returnUrl || null,
    theme: {
      mode: theme?.mode || 'auto',
      primary_color: theme?.primaryColor || null,
      logo_url: theme?.logoUrl || null,
    },
  };
}
