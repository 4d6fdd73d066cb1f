import { RmsError } from '@rms/errors';
import type { SessionDocument } from '../documents/account.ts';
import { expiresAtMs, type Session } from '../session/session.ts';
import { accountEndpoint } from './endpoint.ts';

/** Where somebody is signed in. */
export const listSessions = accountEndpoint({
  access: 'account',
  method: 'get',
  path: '/api/account/sessions',
  async handle({ store, who }) {
    const sessions = await store.listOf(who.user.id);
    return { data: sessions.map((session) => sessionDocument(session, who.session)) };
  },
});

export const endSession = accountEndpoint({
  access: 'account',
  method: 'delete',
  path: '/api/account/sessions/{id}',
  async handle({ store, who, param }) {
    if (!(await store.removeOf(who.user.id, param('id')))) throw new RmsError('not_found');
    return undefined;
  },
});

/** Ends all of them but this one, on whatever machine. */
export const endOtherSessions = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/sessions/end-others',
  async handle({ backend, sessions, request, response, who, context }) {
    const { user } = await backend.users.endSessions({ id: who.user.id }, { context });
    if (!user) throw new Error('auth answered without a user');
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
