import { create } from '@bufbuild/protobuf';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { PrincipalSchema } from '@rms/proto/rms/common/v1/common_pb';
import type { Handlers } from '@rms/rpc';
import { portalSessionOpened } from '../portal-session/portal-session-audit.ts';
import { toPortalSessionMessage } from '../portal-session/portal-session-message.ts';
import { openByLink } from '../portal-session/portal-session-queries.ts';
import { behindLink } from '../sign-in/attempts.ts';
import { hashOfToken, makeToken } from '../token.ts';
import type { HandlerParts } from './handler.ts';

export function openPortalSession(parts: HandlerParts): Handlers<typeof PortalSessionsService>['openPortalSession'] {
  return async ({ linkToken }, context) => {
    const { token, tokenHash } = makeToken();
    const open = () =>
      inTransaction(parts.pool, async (tx) => {
        const opened = await openByLink(tx, hashOfToken(linkToken), tokenHash);
        if (!opened) return undefined;
        const message = toPortalSessionMessage(opened);
        const { workspaceId, environment, keyId, actorName } = message;
        const principal = create(PrincipalSchema, { workspaceId, environment, keyId });
        await appendAudit(tx, { ...context, principal, actorName }, [portalSessionOpened(opened.session)]);
        return message;
      });
    return { token, session: await behindLink(parts, context.clientAddress, open) };
  };
}
