import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { toTenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import {
  CreatePortalSessionResponseSchema,
  type PortalSessionsService,
} from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { actorOf, type Handlers } from '@rms/rpc';
import { grantingKey } from '../key/granting-key.ts';
import { verdictFor } from '../key/key.ts';
import { lockKeys } from '../key/key-queries.ts';
import {
  makePortalSession,
  maxLifetimeSeconds,
  maxSessions,
  sessionPermissions,
} from '../portal-session/portal-session.ts';
import { portalSessionCreated } from '../portal-session/portal-session-audit.ts';
import { countPortalSessions, insertPortalSession } from '../portal-session/portal-session-queries.ts';
import { found, invalid } from '../refusals.ts';
import { makeToken } from '../token.ts';
import { lockWorkspaceLimits } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Creates a portal session of the calling API key. The token of its link is never logged. */
export function createPortalSession({
  time,
  idempotency,
  log,
}: HandlerParts): Handlers<typeof PortalSessionsService>['createPortalSession'] {
  return async (request, context) => {
    const tenant = toTenant(request);
    const { lifetime, returnUrl, theme: { mode = 'auto', primaryColor = '', logoUrl = '' } = {} } = request;
    const seconds = lifetime ? Number(lifetime.seconds) + lifetime.nanos / 1e9 : 0;
    if (seconds <= 0 || seconds > maxLifetimeSeconds)
      throw invalid('expires_in', `must be at most ${maxLifetimeSeconds}`);
    const theme = { mode, primaryColor, logoUrl };
    const idempotent = {
      tenant: () => tenant,
      operation: 'create portal session',
      key: request.idempotencyKey,
      // With the key, so that another one does not get the link.
      content: [actorOf(context), seconds, returnUrl, theme],
    };
    const { response, replayed } = await idempotency.once(idempotent, CreatePortalSessionResponseSchema, async (tx) => {
      found(await lockWorkspaceLimits(tx, tenant.workspaceId), 'workspace', tenant.workspaceId);
      if ((await countPortalSessions(tx, tenant.workspaceId, maxSessions)) >= maxSessions) {
        const message = `The workspace has reached its limit of ${maxSessions} portal sessions. They end at their \`expires_at\`.`;
        throw new RmsError('conflict', { message });
      }
      const now = new Date(time.nowMs());
      // Locked, so that a key that is being revoked does not create a session afterwards.
      const [key] = await lockKeys(tx, grantingKey(context));
      const isOwn = key?.workspaceId === tenant.workspaceId;
      if (!key || !isOwn || verdictFor(key, tenant.environment, now) !== 'valid') throw new RmsError('invalid_api_key');
      if (!sessionPermissions(key).includes('webhooks:write')) throw new RmsError('insufficient_scope');
      const { token, tokenHash } = makeToken();
      const session = makePortalSession({ ...tenant, keyId: key.id, tokenHash, returnUrl, theme }, seconds, now);
      await insertPortalSession(tx, session);
      await appendAudit(tx, context, [portalSessionCreated(session)]);
      log.info(
        { workspace_id: tenant.workspaceId, portal_session_id: session.id, key_id: key.id },
        'portal session created',
      );
      return { linkToken: token, endTime: timestampFromDate(session.endsAt) };
    });
    return { ...response, replayed };
  };
}
