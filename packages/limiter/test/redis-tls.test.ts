import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, readSettings } from '@rms/service';
import {
  type Certificates,
  describeWith,
  makeCertificates,
  type RedisServer,
  startRedis,
  waitUntil,
} from '@rms/testkit';
import { Redis } from 'ioredis';
import { type Limiter, openLimiter } from '../src/index.ts';
import { check } from './redis-support.ts';

describeWith('redis-server', 'the limiter on a Redis with TLS and users', () => {
  let folder: string;
  let ours: Certificates;
  let strangers: Certificates;
  let server: RedisServer;
  let admin: Redis;
  let limiters: Limiter[] = [];
  let lines: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rms-redis-tls-'));
    ours = makeCertificates(join(folder, 'ours'));
    strangers = makeCertificates(join(folder, 'strangers'));
    const { certFile, keyFile } = ours.issue('redis', { sans: ['127.0.0.1'] });
    server = await startRedis({
      'tls-cert-file': certFile,
      'tls-key-file': keyFile,
      'tls-ca-cert-file': ours.caFile,
      'tls-auth-clients': 'optional',
      requirepass: 'of-the-admin',
    });
    const ca = readFileSync(ours.caFile);
    admin = new Redis(server.url, { password: 'of-the-admin', tls: { ca } });
    await setPassword('of-rms');
  });
  const stopAll = async () => {
    await Promise.all(limiters.map((limiter) => limiter.stop()));
    limiters = [];
    lines = [];
  };
  afterEach(stopAll);
  afterAll(async () => {
    admin?.disconnect();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const setPassword = (password: string) => admin.acl('SETUSER', 'rms', 'reset', 'on', `>${password}`, '~*', '+@all');
  const open = async (env: NodeJS.ProcessEnv, change: (url: URL) => void = () => {}) => {
    const url = new URL(server.url);
    url.username = 'rms';
    url.password = 'of-rms';
    change(url);
    const log = createLogger({
      name: 'limiter',
      level: 'trace',
      destination: { write: (line) => void lines.push(line) },
    });
    const limiter = openLimiter(readSettings({ REDIS_URL: url.href, ...env }), { log });
    limiters.push(limiter);
    await limiter.start();
    return limiter;
  };
  /** It works as if Redis were away, and says each reason once. */
  const isAwayFor = async (limiter: Limiter, reason: RegExp) => {
    expect(await limiter.healthy()).toBe(false);
    expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', standing: 'unknown' });
    const warnings = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
    for (const { msg, err } of warnings)
      expect([msg, err.message]).toEqual(['redis cannot be reached', expect.stringMatching(reason)]);
    expect(new Set(warnings.map(({ err }) => err.message)).size).toBe(warnings.length);
    expect(warnings).not.toHaveLength(0);
  };
  const connectionsTaken = async () => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1]);

  test('the right CA and password: limits are counted in Redis', async () => {
    const limiter = await open({ REDIS_CA_FILE: ours.caFile });
    expect(await limiter.healthy()).toBe(true);
    expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', quota: { remaining: 9_999_999 } });
    expect(String(await admin.call('CLIENT', 'LIST'))).toContain('user=rms');
    expect(lines.join('')).not.toContain('of-rms');
  });

  test('"?tls=" in the URL does not turn TLS off, nor do capitals', async () => {
    const limiter = await open({ REDIS_CA_FILE: ours.caFile }, (url) => {
      url.search = '?tls=';
    });
    expect(await limiter.healthy()).toBe(true);
    const shouting = server.url.replace('rediss://', 'REDISS://rms:of-rms@');
    const another = await open({ REDIS_CA_FILE: ours.caFile, REDIS_URL: shouting });
    expect(await another.healthy()).toBe(true);
  });

  test('another CA, or none: away', async () => {
    await isAwayFor(await open({ REDIS_CA_FILE: strangers.caFile }), /self-signed certificate|unable to verify/);
    await stopAll();
    await isAwayFor(await open({}), /self-signed certificate|unable to verify/);
  });

  test('a host name that the certificate is not for: away', async () => {
    const limiter = await open({ REDIS_CA_FILE: ours.caFile }, (url) => {
      url.hostname = 'localhost';
    });
    await isAwayFor(limiter, /does not match certificate's altnames/);
  });

  test('a wrong password: away, said once without the password, and tried again until it fits', async () => {
    const before = await connectionsTaken();
    const limiter = await open({ REDIS_CA_FILE: ours.caFile }, (url) => {
      url.password = 'hunter2-new';
    });
    await waitUntil(async () => (await connectionsTaken()) >= before + 4, { what: 'it to be tried again' });
    await isAwayFor(limiter, /WRONGPASS/);
    await setPassword('hunter2-new');
    await waitUntil(() => limiter.healthy(), { what: 'the new password to fit' });
    await waitUntil(async () => (await limiter.check(check)).quota !== undefined, { what: 'Redis to be asked' });
    expect(lines.join('')).toContain('redis answers');
    expect(lines.join('')).not.toContain('hunter2');
    await setPassword('of-rms');
  });

  test('a client certificate where the server demands one', async () => {
    await admin.config('SET', 'tls-auth-clients', 'yes');
    try {
      const { certFile, keyFile } = ours.issue('client');
      const stranger = strangers.issue('client');
      const ca = { REDIS_CA_FILE: ours.caFile };
      const limiter = await open({ ...ca, REDIS_CERT_FILE: certFile, REDIS_KEY_FILE: keyFile });
      expect(await limiter.healthy()).toBe(true);
      await stopAll();
      await isAwayFor(await open(ca), /certificate required|ECONNRESET|closed/);
      await stopAll();
      const strange = { REDIS_CERT_FILE: stranger.certFile, REDIS_KEY_FILE: stranger.keyFile };
      await isAwayFor(await open({ ...ca, ...strange }), /unknown ca|ECONNRESET|closed/i);
    } finally {
      await admin.config('SET', 'tls-auth-clients', 'optional');
    }
  });

  test('files of TLS with a URL that is not TLS are refused', async () => {
    const REDIS_URL = 'redis://:hunter2@redis.example';
    const { certFile, keyFile } = ours.issue('client');
    const cert = { REDIS_CERT_FILE: certFile, REDIS_KEY_FILE: keyFile };
    await expect(open({ REDIS_URL, REDIS_CA_FILE: ours.caFile })).rejects.toThrow(/^REDIS_CA_FILE is set.*rediss:/);
    await expect(open({ REDIS_URL, ...cert })).rejects.toThrow(/^REDIS_CERT_FILE is set.*rediss:/);
    await expect(open({ REDIS_URL: 'https://redis.example' })).rejects.toThrow(
      /^REDIS_URL: is no URL that begins with redis:/,
    );
  });
});
