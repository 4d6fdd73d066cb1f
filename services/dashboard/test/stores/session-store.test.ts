import { randomBytes } from 'node:crypto';
import { openRedisServers } from '@rms/redis';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { describeWith, testServer } from '@rms/testkit';
import { createRedisSessionStore, createSessionBox } from '../../src/session/redis-session-store.ts';
import { expiresAtMs, newSession, newToken, tokenHashOf } from '../../src/session/session.ts';
import { describeSessionStore, start } from '../session-store-conformance.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const sessionKey = randomBytes(32).toString('base64');

describeWith('redis', 'in Redis', () => {
  const openServers = () => openRedisServers(readSettings({ REDIS_URL: testServer('redis') }), log);
  const open = (key = sessionKey) => createRedisSessionStore(openServers(), createSessionBox(key), log);
  describeSessionStore(open);

  describe('an attacker with write access to Redis', () => {
    const servers = openServers();
    const { redis } = servers.of('any');
    const store = open();
    beforeAll(async () => {
      await servers.connect();
      await store.start();
    });
    afterAll(async () => {
      servers.disconnect();
      await store.stop();
    });

    const recordOf = (tokenHash: string) => `rms-dashboard:session:${tokenHash}`;
    const add = async (userId: string, nowMs = Date.now()) => {
      const session = newSession(userId, 1n, start(nowMs));
      const tokenHash = tokenHashOf(newToken());
      await store.add(tokenHash, session);
      return { session, tokenHash };
    };
    const newUser = () => `usr_${newToken()}`;

    test('cannot create a session', async () => {
      const session = newSession(newUser(), 1n, start(Date.now()));
      const tokenHash = tokenHashOf(newToken());
      await redis.set(recordOf(tokenHash), JSON.stringify(session));
      expect(await store.find(tokenHash)).toBeUndefined();
      const sealedElsewhere = createSessionBox(randomBytes(32).toString('base64')).seal(tokenHash, session);
      await redis.set(recordOf(tokenHash), sealedElsewhere);
      expect(await store.find(tokenHash)).toBeUndefined();
    });

    test('cannot move the session of a user to a token of their own', async () => {
      const { tokenHash } = await add(newUser());
      const own = tokenHashOf(newToken());
      await redis.copy(recordOf(tokenHash), recordOf(own));
      expect(await store.find(own)).toBeUndefined();
      expect(await store.find(tokenHash)).toBeDefined();
    });

    test('cannot change a session', async () => {
      const { tokenHash } = await add(newUser());
      const record = Buffer.from((await redis.get(recordOf(tokenHash))) ?? '', 'base64url');
      record[record.length - 1] = (record.at(-1) ?? 0) ^ 1;
      await redis.set(recordOf(tokenHash), record.toString('base64url'));
      expect(await store.find(tokenHash)).toBeUndefined();
    });

    test('cannot extend a session', async () => {
      const { session, tokenHash } = await add(newUser());
      await redis.persist(recordOf(tokenHash));
      const later = createRedisSessionStore(
        servers,
        createSessionBox(sessionKey, () => expiresAtMs(session)),
        log,
      );
      expect(await later.find(tokenHash)).toBeUndefined();
      expect(await store.find(tokenHash)).toEqual(session);
    });

    test("cannot list another user's session as one of their own", async () => {
      const [victim, attacker] = [newUser(), newUser()];
      const { session, tokenHash } = await add(victim);
      await redis.hset(`rms-dashboard:sessions-of:${attacker}`, session.id, tokenHash);
      expect(await store.listOf(attacker)).toEqual([]);
    });

    test('cannot read the CSRF token, address or user ID of a record', async () => {
      const { session, tokenHash } = await add(newUser());
      const record = (await redis.get(recordOf(tokenHash))) ?? '';
      const readable = record + Buffer.from(record, 'base64url').toString('latin1');
      for (const secret of [session.csrfToken, session.address, session.userId]) expect(readable).not.toContain(secret);
    });
  });
});
