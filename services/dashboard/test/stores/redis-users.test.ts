import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRedisLimiter } from '@rms/limits';
import { limiterRights, openRedisServers, type RedisRights, sessionRights } from '@rms/redis';
import { createLogger } from '@rms/runtime/logging';
import { readSettings, SettingsError } from '@rms/runtime/settings';
import { describeWith, perSuite, startRedis, waitUntil } from '@rms/testkit';
import { createRedisSessionStore, createSessionBox } from '../../src/session/redis-session-store.ts';
import { newSession, newToken, tokenHashOf } from '../../src/session/session.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const guide = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'stores.md');

/** Returns the guide's rules: user name → rules. */
function documentedUsers(): Map<string, string[]> {
  const lines = readFileSync(guide, 'utf8').matchAll(/^user (\S+) (.+)$/gm);
  return new Map([...lines].map(([, name = '', rules = '']) => [name, rules.split(' ')]));
}

/** Returns the table of rights in the guide: prefix of keys → commands. */
function documentedRights(): Map<string, string[]> {
  const rows = readFileSync(guide, 'utf8').matchAll(/^\| .+ \| `([\w-]+:)\*` \| `([A-Z ]+)` \|$/gm);
  return new Map([...rows].map(([, prefix = '', commands = '']) => [prefix, commands.split(' ').sort()]));
}

const commandsOf = ({ prefix, probes }: RedisRights) => [...new Set(probes(prefix).map(([command]) => command))].sort();

describeWith('redis-server', 'the Redis users of docs/stores.md', () => {
  /** Connected before the guide's rules disable the default user. */
  let admin: ReturnType<typeof clientOf>;
  const asAdmin = (work: (client: typeof admin) => Promise<unknown>) => work(admin);
  const passwords = new Map<string, string>();
  const urlOf = (user: string) => {
    const url = new URL(server.url);
    url.username = user;
    url.password = passwords.get(user) ?? '';
    return url.href;
  };
  const serversOf = (url: string) => openRedisServers(readSettings({ REDIS_URL: url }), log);
  const clientOf = (url: string) => serversOf(url).of('any').redis;

  afterAll(async () => {
    admin?.disconnect();
  });
  const server = perSuite(startRedis);
  beforeAll(async () => {
    admin = clientOf(server.url);
    await admin.connect();
    for (const [user, rules] of documentedUsers()) {
      const password = newToken();
      passwords.set(user, password);
      await admin.call('ACL', 'SETUSER', user, ...rules.map((rule) => (rule.startsWith('>') ? `>${password}` : rule)));
    }
  });

  test('the dashboard and the limits have separate users', () => {
    expect([...passwords.keys()]).toEqual(['default', 'rms-limits', 'rms-dashboard']);
  });

  test('the table of rights lists the commands that services check', () => {
    expect(documentedRights()).toEqual(
      new Map([limiterRights, sessionRights].map((rights) => [rights.prefix, commandsOf(rights)])),
    );
  });

  /** Creates a user with the table's commands only. */
  const withDocumentedCommands = async (prefix: string) => {
    const user = `${prefix}only`;
    const commands = documentedRights().get(prefix) ?? [];
    passwords.set(user, newToken());
    const rules = [`>${passwords.get(user)}`, `~${prefix}*`, ...commands.map((command) => `+${command.toLowerCase()}`)];
    await admin.call('ACL', 'SETUSER', user, 'on', ...rules);
    return user;
  };

  test.each([
    ['rms-dashboard of the guide', async () => 'rms-dashboard'],
    ['a user with the commands of the table', () => withDocumentedCommands(sessionRights.prefix)],
  ])('%s keeps sessions and has no access to limits', async (_, userOf) => {
    const url = urlOf(await userOf());
    const store = createRedisSessionStore(serversOf(url), createSessionBox(randomBytes(32).toString('base64')), log);
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
    await store.stop();

    const client = clientOf(url);
    await client.connect();
    await expect(client.get('rms:marks-confirmed')).rejects.toThrow('NOPERM');
    await expect(client.set('rms:{ws_1}:quota:live:2026-01', '0')).rejects.toThrow('NOPERM');
    client.disconnect();
  });

  test.each([
    ['rms-limits of the guide', async () => 'rms-limits'],
    ['a user with the commands of the table', () => withDocumentedCommands(limiterRights.prefix)],
  ])('%s keeps limits and markers and has no access to sessions', async (_, userOf) => {
    const user = await userOf();
    await admin.call('FLUSHALL');
    const limits = {
      rateLimitRequests: 20,
      rateLimitWindowSeconds: 60,
      workspaceRateLimitRequests: 0,
      monthlyQuota: 10,
      authFailureLimit: 20,
    };
    const limiter = createRedisLimiter({ url: urlOf(user), log, ...limits });
    await limiter.start();
    const subject = { workspaceId: 'ws_1', environment: 'live', keyId: 'key_1' } as const;
    await limiter.raiseQuotas([{ ...subject, monthMs: Date.now(), used: 4 }]);
    expect(await limiter.check({ ...subject, keyVersion: 1 })).toMatchObject({ quota: { remaining: 5 } });
    await limiter.setMarkers([{ ...subject, version: 2 }]);
    await limiter.confirmMarkers(async () => {});
    expect(await limiter.check({ ...subject, keyVersion: 1 })).toMatchObject({ freshness: 'changed' });
    expect(await limiter.countFailure('192.0.2.1')).toBe(0);
    await limiter.stop();

    const client = clientOf(urlOf(user));
    await client.connect();
    await expect(client.get('rms-dashboard:session:x')).rejects.toThrow('NOPERM');
    await expect(client.set('rms-dashboard:session:x', '')).rejects.toThrow('NOPERM');
    await expect(client.call('FLUSHALL')).rejects.toThrow('NOPERM');
    client.disconnect();
  });

  describe('a user without rights', () => {
    const limits = {
      rateLimitRequests: 20,
      rateLimitWindowSeconds: 60,
      workspaceRateLimitRequests: 0,
      monthlyQuota: 10,
      authFailureLimit: 20,
    };
    const grant = async (user: string, ...rules: string[]) => {
      const password = newToken();
      passwords.set(user, password);
      await asAdmin((one) => one.call('ACL', 'SETUSER', user, 'reset', 'on', `>${password}`, ...rules));
    };
    const startLimiter = async (user: string, lines: string[] = [], path = '') => {
      const write = (line: string) => void lines.push(line);
      const limiter = createRedisLimiter({
        url: `${urlOf(user)}${path}`,
        log: createLogger({ name: 'test', destination: { write } }),
        ...limits,
      });
      try {
        await limiter.start();
      } catch (error) {
        await limiter.stop();
        throw error;
      }
      return limiter;
    };
    const startSessions = async (user: string) => {
      const store = createRedisSessionStore(
        serversOf(urlOf(user)),
        createSessionBox(randomBytes(32).toString('base64')),
        log,
      );
      await store.start().finally(() => store.stop());
    };

    test.each<[string, string[], RegExp]>([
      ['INFO', ['~rms:*', '+@all', '-@dangerous'], /^REDIS_URL: .*"limited" may not run INFO; .*: \+info$/],
      ['scripts', ['~rms:*', '+@all', '-@dangerous', '+info', '-@scripting'], /may not run EVAL, EVALSHA; /],
      ['its keys', ['~other:*', '+@all', '-@dangerous', '+info'], /may not use the keys rms:\*; .*: ~rms:\*$/],
      ['a command and keys', ['~other:*', '+@all', '-incr'], /may not run INCR or use the keys rms:\*/],
    ])('%s: the limits refuse to start, and the error names the missing right', async (_, rules, message) => {
      await grant('limited', ...rules);
      await expect(startLimiter('limited')).rejects.toThrow(message);
      await expect(startLimiter('limited')).rejects.toBeInstanceOf(SettingsError);
    });

    test('a database that the server lacks, or that the user may not select, ends the start', async () => {
      await grant('limited', '~rms:*', '+@all', '-@dangerous', '+info');
      await expect(startLimiter('limited', [], '/9999')).rejects.toThrow('REDIS_URL: the server has no database 9999');
      await startLimiter('limited', [], '/1').then((limiter) => limiter.stop());
      await grant('limited', '~rms:*', '+@all', '-@dangerous', '+info', '-select');
      await expect(startLimiter('limited', [], '/1')).rejects.toThrow('may not run SELECT; add to its rules: +select');
    });

    test.each<[string, string[], RegExp]>([
      ['hashes', ['~rms-dashboard:*', '+@all', '-@dangerous', '-@hash'], /may not run HSET, .*HDEL; /],
      ['its keys', ['~rms:*', '+@all'], /may not use the keys rms-dashboard:\*/],
    ])('%s: the dashboard refuses to start, and the error names the missing right', async (_, rules, message) => {
      await grant('limited', ...rules);
      await expect(startSessions('limited')).rejects.toThrow(message);
    });

    test('the dashboard needs no INFO', async () => {
      await grant('limited', '~rms-dashboard:*', '+@all', '-@dangerous');
      await startSessions('limited');
    });

    test('rights that are removed later are named in the log, and Redis is used again once they are granted', async () => {
      const all = ['~rms:*', '+@all', '-@dangerous', '+info'];
      await grant('limited', ...all);
      const lines: string[] = [];
      const limiter = await startLimiter('limited', lines);
      const subject = { workspaceId: 'ws_9', environment: 'live', keyId: 'key_9', keyVersion: 1 } as const;
      expect(await limiter.check(subject)).toMatchObject({ quota: { remaining: 9 } });
      await asAdmin((one) => one.call('ACL', 'SETUSER', 'limited', '-info'));
      await waitUntil(() => /may not run INFO/.test(lines.join('')), { what: 'the log to name INFO' });
      expect(await limiter.healthy()).toBe(false);
      await asAdmin((one) => one.call('ACL', 'SETUSER', 'limited', '+info'));
      await waitUntil(() => limiter.healthy(), { what: 'a healthy limiter' });
      await limiter.stop();
    });
  });
});
