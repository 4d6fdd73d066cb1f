import { RmsError } from '@rms/base/errors';
import type { SessionDocument } from '../documents/account.ts';
import { expiresAtMs, type Session } from '../session/session.ts';
import { accountEndpoint } from './endpoint.ts';

/** Lists the signed-in user's sessions. */
export const listSessions = accountEndpoint({
  access: 'account',
  method: 'get',
  path: '/api/account/sessions',
  async handle({ store, signedIn }) {
    const sessions = await store.listOf(signedIn.user.id);
    return { data: sessions.map((session) => sessionDocument(session, signedIn.session)) };
  },
});

export const endSession = accountEndpoint({
  access: 'account',
  method: 'delete',
  path: '/api/account/sessions/{id}',
  async handle({ backend, store, signedIn, param, context }) {
    const [userId, endedId] = [signedIn.user.id, param('id')];
    const isOpen = (await store.listOf(userId)).some(({ id }) => id === endedId);
    if (isOpen) await backend.users.recordSessionEnd({ id: userId, endedId }, { context });
    if (!isOpen || !(await store.removeOf(userId, endedId))) {
      throw new RmsError('not_found', { message: 'The session does not exist or has already ended.' });
    }
    return undefined;
  },
});

/** Ends all sessions of the user except this one. */
export const endOtherSessions = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/sessions/end-others',
  async handle({ backend, sessions, request, response, signedIn, context }) {
    const { user } = await backend.users.endSessions({ id: signedIn.user.id }, { context });
    if (!user) throw new Error('auth returned no user');
    await sessions.begin(request, response, user);
    return undefined;
  },
});

function sessionDocument(session: Session, current: Session): SessionDocument {
  return {
    id: session.id,
    current: session.id === current.id,
    address: session.address,
    user_agent: session.userAgent,
    created_at: new Date(session.createdAtMs).toISOString(),
    last_seen_at: new Date(session.lastSeenAtMs).toISOString(),
    expires_at: new Date(expiresAtMs(session)).toISOString(),
  };
}
