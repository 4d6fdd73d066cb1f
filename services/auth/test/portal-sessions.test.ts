import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { createClient } from '@rms/rpc';
import { perSuite } from '@rms/testkit';
import { maxSessions } from '../src/portal-session/portal-session.ts';
import { trimPortalSessions } from '../src/portal-session/portal-session-queries.ts';
import { startAuth } from './support.ts';
import { newAddress } from './user-support.ts';

describe('Portal sessions', () => {
  const auth = perSuite(startAuth);
  const portal = perSuite(() => createClient(PortalSessionsService, { target: auth.address, timeoutMs: 60_000 }));

  const newKey = (more: object = {}) => auth.newKey({ scope: Scope.ADMIN, name: 'embed', ...more });
  type Key = Pick<Awaited<ReturnType<typeof newKey>>, 'workspaceId' | 'id'>;
  const of = ({ workspaceId, id }: Key) => ({
    context: { principal: { workspaceId, environment: Environment.LIVE, keyId: id }, requestId: 'req-portal' },
  });
  const lifetime = durationFromMs(3_600_000);
  const create = (key: Key, more: object = {}) =>
    portal.createPortalSession(
      { workspaceId: key.workspaceId, environment: Environment.LIVE, lifetime, ...more },
      of(key),
    );
  const open = async (linkToken: string) =>
    portal.openPortalSession({ linkToken }, { context: { clientAddress: newAddress() } });
  const opened = async (key: Key, more: object = {}) => (await open((await create(key, more)).linkToken)).token;
  const check = async (token: string) => (await portal.checkPortalSession({ token })).session;
  const refused = (code: string) => expect.objectContaining({ code });

  test('a link opens a session once; of concurrent calls, one succeeds', async () => {
    const key = await newKey();
    const theme = { mode: 'dark', primaryColor: '#112233', logoUrl: '' };
    const { linkToken } = await create(key, { returnUrl: 'https://example.com', theme });
    expect(await check(linkToken)).toBeUndefined();
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => open(linkToken)));
    const [done] = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ reason: refused('not_found') })),
    );
    const session = await check(done?.token ?? '');
    expect(session).toEqual(done?.session);
    expect(session).toMatchObject({
      workspaceId: key.workspaceId,
      environment: Environment.LIVE,
      keyId: key.id,
      actorName: 'portal session of key embed',
      permissions: ['webhooks:read', 'webhooks:write', 'deliveries:read', 'deliveries:write'],
      returnUrl: 'https://example.com',
      theme,
    });
    await expect(open(done?.token ?? '')).rejects.toEqual(refused('not_found'));
  });

  test('a session has no permission that its key lacks', async () => {
    const restricted = { scope: Scope.UNSPECIFIED, permissions: ['webhooks:write', 'events:read'] };
    const key = await newKey(restricted);
    expect((await check(await opened(key)))?.permissions).toEqual(['webhooks:read', 'webhooks:write']);
    for (const grant of [{ scope: Scope.WRITE }, { ...restricted, permissions: ['webhooks:read'] }]) {
      await expect(create(await newKey(grant))).rejects.toEqual(refused('insufficient_scope'));
    }
  });

  test('a session and an unused link end at their time, and with their key: revoked, expired or rolled', async () => {
    const ends: readonly ((key: Key, ids: { id: string; workspaceId: string }) => Promise<unknown>)[] = [
      (key) => auth.keys.revokeKey(key),
      (key) => auth.expireKey(key),
      (key) => auth.keys.rollKey(key),
      ({ workspaceId }) =>
        auth.database.pool.query('update auth.portal_sessions set ends_at = now() where workspace_id = $1', [
          workspaceId,
        ]),
    ];
    for (const end of ends) {
      const { workspaceId, id } = await newKey();
      const key = { workspaceId, id };
      const [token, { linkToken }] = [await opened(key), await create(key)];
      expect(await check(token)).toBeDefined();
      await end(key, key);
      expect(await check(token)).toBeUndefined();
      await expect(open(linkToken)).rejects.toEqual(refused('not_found'));
    }
  });

  test('only a valid key of the workspace creates one, for at most a day', async () => {
    const [key, other] = [await newKey(), await newKey()];
    await expect(create({ ...key, id: other.id })).rejects.toEqual(refused('invalid_api_key'));
    await expect(create({ ...other, workspaceId: key.workspaceId })).rejects.toEqual(refused('invalid_api_key'));
    await expect(create(key, { environment: Environment.SANDBOX })).rejects.toEqual(refused('invalid_api_key'));
    for (const seconds of [0, 86_401]) {
      await expect(create(key, { lifetime: durationFromMs(seconds * 1_000) })).rejects.toEqual(
        refused('invalid_request'),
      );
    }
    await auth.keys.revokeKey({ workspaceId: key.workspaceId, id: key.id });
    await expect(create(key)).rejects.toEqual(refused('invalid_api_key'));
  });

  test('a repeated Idempotency-Key returns the same link, but not to another key', async () => {
    const key = await newKey();
    const again = { idempotencyKey: 'once' };
    const first = await create(key, again);
    expect(await create(key, again)).toMatchObject({ linkToken: first.linkToken, replayed: true });
    const other = await newKey({ workspaceId: key.workspaceId });
    await expect(create(other, again)).rejects.toEqual(refused('idempotency_key_reused'));
  });

  test('a workspace has a limited number of sessions; housekeeping deletes ended ones', async () => {
    const key = await newKey();
    const { pool } = auth.database;
    await pool.query(
      `insert into auth.portal_sessions (workspace_id, environment, id, key_id, token_hash, ends_at, return_url, theme)
       select $1, 'live', 'pts_' || n, $2, sha256(('n' || n)::bytea), now() + interval '1 hour', '', '{}'
         from generate_series(1, $3) as n`,
      [key.workspaceId, key.id, maxSessions],
    );
    await expect(create(key)).rejects.toEqual(refused('conflict'));
    await pool.query(
      "update auth.portal_sessions set ends_at = now() - interval '1 hour' where workspace_id = $1 and id < 'pts_2'",
      [key.workspaceId],
    );
    await create(key);
    await trimPortalSessions(pool, new AbortController().signal);
    const { rows } = await pool.query(
      "select count(*)::int from auth.portal_sessions where workspace_id = $1 and ends_at < now() - interval '1 minute'",
      [key.workspaceId],
    );
    expect(rows).toEqual([{ count: 0 }]);
  });

  test('no token is stored or logged', async () => {
    const { linkToken } = await create(await newKey());
    const { token } = await open(linkToken);
    const { rows } = await auth.database.pool.query('select * from auth.portal_sessions');
    for (const secret of [linkToken, token]) {
      expect(JSON.stringify(rows)).not.toContain(secret);
      expect(auth.logged.join('')).not.toContain(secret);
    }
  });
});
