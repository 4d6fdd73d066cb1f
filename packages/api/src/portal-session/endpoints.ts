import { RmsError } from '@rms/base/errors';
import { portalOf } from '../backend.ts';
import { defineEndpoint, oneJson, replayedHeader } from '../endpoint.ts';
import { toDuration } from '../time-schemas.ts';
import { presentTimeOf } from '../times.ts';
import { createPortalSessionBody, defaultLifetimeSeconds, onePortalSession } from './schema.ts';

const createPortalSession = defineEndpoint({
  method: 'post',
  path: '/v1/portal_sessions',
  operationId: 'createPortalSession',
  summary: 'Create a portal session',
  description:
    'Returns a link that opens the webhook and delivery pages of this workspace and environment, and nothing else, ' +
    'without an account. The session has no permission that the key lacks, and ends with the key.',
  tag: 'Portal',
  permission: 'webhooks:write',
  idempotent: true,
  optionalBody: true,
  body: createPortalSessionBody,
  success: { status: 201, description: 'The link.', schema: onePortalSession },
  async handle({ context, body, tenant, idempotencyKey, backend }) {
    const { sessions, dashboardUrl } = portalOf(backend);
    if (dashboardUrl === undefined) {
      const message =
        'The installation has no public URL of the dashboard, which serves the portal. Set DASHBOARD_URL.';
      throw new RmsError('conflict', { message });
    }
    const { workspaceId, environment } = tenant;
    const { mode = 'auto', primary_color: primaryColor = '', logo_url: logoUrl = '' } = body.theme ?? {};
    const { linkToken, endTime, replayed } = await sessions.createPortalSession(
      {
        workspaceId,
        environment,
        lifetime: toDuration(body.expires_in ?? defaultLifetimeSeconds),
        returnUrl: body.return_url ?? '',
        theme: { mode, primaryColor, logoUrl },
        idempotencyKey,
      },
      { context: context() },
    );
    // The token is in the fragment, which browsers send to no server.
    const document = { url: `${dashboardUrl}/portal#${linkToken}`, expires_at: presentTimeOf(endTime) };
    return { status: 201, json: oneJson(JSON.stringify(document)), headers: replayedHeader(replayed) };
  },
});

export const portalSessionEndpoints = [createPortalSession];
