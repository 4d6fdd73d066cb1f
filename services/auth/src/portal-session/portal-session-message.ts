import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { toEnvironmentMessage } from '@rms/base/tenant';
import { sessionPermissions } from './portal-session.ts';
import type { KeyedSession } from './portal-session-queries.ts';

/** Converts a session to rms.auth.v1.PortalSession. */
export function toPortalSessionMessage({ session, key }: KeyedSession) {
  return {
    id: session.id,
    workspaceId: session.workspaceId,
    environment: toEnvironmentMessage(session.environment),
    keyId: session.keyId,
    actorName: `portal session of key ${key.name}`,
    permissions: sessionPermissions(key),
    endTime: timestampFromDate(session.endsAt),
    returnUrl: session.returnUrl,
    theme: session.theme,
  };
}
