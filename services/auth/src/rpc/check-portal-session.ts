import type { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import type { Handlers } from '@rms/rpc';
import { toPortalSessionMessage } from '../portal-session/portal-session-message.ts';
import { findByToken } from '../portal-session/portal-session-queries.ts';
import { hashOfToken } from '../token.ts';
import type { HandlerParts } from './handler.ts';

export function checkPortalSession({
  pool,
}: HandlerParts): Handlers<typeof PortalSessionsService>['checkPortalSession'] {
  return async ({ token }) => {
    const found = await findByToken(pool, hashOfToken(token));
    return found ? { session: toPortalSessionMessage(found) } : {};
  };
}
