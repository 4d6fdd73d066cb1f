import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRedisLimiter, openRedis } from '@rms/limiter';
import { createLogger } from '@rms/logging';
import { readSettings } from '@rms/settings';
import { describeWith, type RedisServer, startRedis } from '@rms/testkit';
import { createRedisSessionStore } from '../../src/session/redis-session-store.ts';
import { newSession, newToken, tokenHashOf } from '../../src/session/session.ts';
import { createSessionBox } from '../../src/session/session-box.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const guide = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'operations.md');

/** Returns the rules of the guide: user name → rules. */
function documentedUsers(): Map<string, string[]> {
  const lines = readFileSync(guide, 'utf8').matchAll(/^user (\S+) (.+)$/gm);
  return new Map([...lines].map(([, name = '', rules = '']) => [name, rules.split(' ')]));
}

describeWith('redis-server', 'the Redis users of docs/operations.md', () => {
  let server: RedisServer;
  const passwords = new Map<string, string>();
  const urlOf = (user: string) => {
    const url = new URL(server.url);
    url.username = user;
    url.password = passwords.get(user) ?? '';
    return url.href;
  };
  const clientOf = (user: string) => openRedis(readSettings({ REDIS_URL: urlOf(user) }));

  beforeAll(async () => {
    server = await startRedis();
    const admin = openRedis(readSettings({ REDIS_URL: server.url }));
    await admin.connect();
    for (const [user, rules] of documentedUsers()) {
      const password = newToken();
      passwords.set(user, password);
      await admin.call('ACL', 'SETUSER', user, ...rules.map((rule) => (rule.startsWith('>') ? `>${password}` : rule)));
    }
    admin.disconnect();
  });
  afterAll(() => server.stop());

  test('the dashboard and the limits have separate users', () => {
    expect([...passwords.keys()]).toEqual(['default', 'rms-limits', 'rms-dashboard']);
  });

  test('rms-dashboard keeps sessions and has no access to limits', async () => {
    const client = clientOf('rms-dashboard');
    const store = createRedisSessionStore(client, createSessionBox(randomBytes(32).toString('base64')), log);
    await store.start();
    expect(await store.healthy()).toBe(true);
    const session = newSession('usr_1', 1n, { address: '192.0.2.1', userAgent: '', nowMs: Date.now() });
    const tokenHash = tokenHashOf(newToken());
    await store.add(tokenHash, session);
    await store.update(tokenHash, session);
    expect(await store.find(tokenHash)).toEqual(session);
    expect(await store.listOf('usr_1')).toEqual([session]);
    expect(await store.removeOf('usr_1', session.id)).toBe(true);
    await store.remove(tokenHash);
    await expect(client.get('rms:marks-confirmed')).rejects.toThrow('NOPERM');
    await expect(client.set('rms:{ws_1}:quota:live:2026-01', '0')).rejects.toThrow('NOPERM');
    await store.stop();
  });

  test('rms-limits keeps limits and markers and has no access to sessions', async () => {
    const limits = {
      rateLimitRequests: 20,
      rateLimitWindowSeconds: 60,
      workspaceRateLimitRequests: 0,
      monthlyQuota: 10,
      authFailureLimit: 20,
    };
    const limiter = createRedisLimiter({ url: urlOf('rms-limits'), log, ...limits });
    await limiter.start();
    const subject = { workspaceId: 'ws_1', environment: 'live', keyId: 'key_1' } as const;
    await limiter.raiseQuotas([{ ...subject, monthMs: Date.now(), used: 4 }]);
    expect(await limiter.check({ ...subject, keyVersion: 1 })).toMatchObject({ quota: { remaining: 5 } });
    await limiter.setMarkers([{ ...subject, version: 2 }]);
    await limiter.confirmMarkers(async () => {});
    expect(await limiter.check({ ...subject, keyVersion: 1 })).toMatchObject({ freshness: 'changed' });
    expect(await limiter.countFailure('192.0.2.1')).toBe(0);
    await limiter.stop();

    const client = clientOf('rms-limits');
    await client.connect();
    await expect(client.get('rms-dashboard:session:x')).rejects.toThrow('NOPERM');
    await expect(client.set('rms-dashboard:session:x', '')).rejects.toThrow('NOPERM');
    await expect(client.call('FLUSHALL')).rejects.toThrow('NOPERM');
    client.disconnect();
  });
});
