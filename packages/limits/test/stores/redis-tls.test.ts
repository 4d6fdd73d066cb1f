import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { connectLater } from '@rms/redis';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import {
  type Certificates,
  describeWith,
  disposable,
  makeCertificates,
  type RedisServer,
  startRedis,
  suiteFolder,
  waitUntil,
} from '@rms/testkit';
import { Redis } from 'ioredis';
import { type Limiter, openLimiter } from '../../src/index.ts';
import { check } from './redis-support.ts';

describeWith('redis-server', 'the limiter on Redis with TLS and users', () => {
  const folder = suiteFolder('redis-tls');
  let trusted: Certificates;
  let untrusted: Certificates;
  let server: RedisServer;
  let admin: Redis;
  let limiters: Limiter[] = [];
  let lines: string[] = [];

  beforeAll(async () => {
    trusted = makeCertificates(join(folder, 'ours'));
    untrusted = makeCertificates(join(folder, 'strangers'));
    const { certFile, keyFile } = trusted.issue('redis', { sans: ['127.0.0.1'] });
    server = await startRedis({
      'tls-cert-file': certFile,
      'tls-key-file': keyFile,
      'tls-ca-cert-file': trusted.caFile,
      'tls-auth-clients': 'optional',
      requirepass: 'of-the-admin',
    });
    const ca = readFileSync(trusted.caFile);
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
  /** Expects the limiter to behave as if Redis were unreachable, and to log each reason once. */
  const failsWith = async (limiter: Limiter, reason: RegExp) => {
    expect(await limiter.healthy()).toBe(false);
    expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', freshness: 'unknown' });
    const warnings = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
    for (const { msg, err } of warnings)
      expect([msg, err.message]).toEqual(['cannot connect to Redis', expect.stringMatching(reason)]);
    expect(new Set(warnings.map(({ err }) => err.message)).size).toBe(warnings.length);
    expect(warnings).not.toHaveLength(0);
  };
  const connectionsTaken = async () => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1]);

  test('the right CA and password: limits are enforced in Redis', async () => {
    const limiter = await open({ REDIS_CA_FILE: trusted.caFile });
    expect(await limiter.healthy()).toBe(true);
    expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', quota: { remaining: 9_999_999 } });
    expect(String(await admin.call('CLIENT', 'LIST'))).toContain('user=rms');
    expect(lines.join('')).not.toContain('of-rms');
  });

  test('"?tls=" in the URL does not disable TLS, and a scheme in capital letters is rejected', async () => {
    const limiter = await open({ REDIS_CA_FILE: trusted.caFile }, (url) => {
      url.search = '?tls=';
    });
    expect(await limiter.healthy()).toBe(true);
    const shouting = server.url.replace('rediss://', 'REDISS://rms:of-rms@');
    await expect(open({ REDIS_CA_FILE: trusted.caFile, REDIS_URL: shouting })).rejects.toThrow(
      /^REDIS_URL: is not a URL/,
    );
  });

  test('another CA, or none: unreachable', async () => {
    await failsWith(await open({ REDIS_CA_FILE: untrusted.caFile }), /; set REDIS_CA_FILE to the CA/);
    await stopAll();
    await failsWith(await open({}), /; set REDIS_CA_FILE to the CA/);
  });

  test('a server whose certificate is rejected may send an alert afterwards: the second error is ignored', async () => {
    await using redis = disposable(
      connectLater({ url: server.url, tls: { ca: readFileSync(untrusted.caFile) } }),
      'disconnect',
    );
    const sockets: Socket[] = [];
    const errors: Error[] = [];
    redis.on('error', (error) => {
      errors.push(error);
      sockets.push((redis as unknown as { stream: Socket }).stream);
    });
    await expect(redis.connect()).rejects.toThrow('Connection is closed');
    expect(errors[0]?.message).toMatch(/self-signed certificate|unable to verify/);
    expect(() => sockets[0]?.emit('error', new Error('alert decode error'))).not.toThrow();
    expect(errors).toHaveLength(1);
  });

  test('a host name that does not match the certificate: unreachable', async () => {
    const limiter = await open({ REDIS_CA_FILE: trusted.caFile }, (url) => {
      url.hostname = 'localhost';
    });
    await failsWith(limiter, /does not match certificate's altnames/);
  });

  test('a wrong password: unreachable, logged once without the password, and retried until it is correct', async () => {
    const before = await connectionsTaken();
    const limiter = await open({ REDIS_CA_FILE: trusted.caFile }, (url) => {
      url.password = 'hunter2-new';
    });
    await waitUntil(async () => (await connectionsTaken()) >= before + 4, { what: 'the limiter to retry' });
    await failsWith(limiter, /WRONGPASS/);
    await setPassword('hunter2-new');
    await waitUntil(() => limiter.healthy(), { what: 'the new password to be accepted' });
    await waitUntil(async () => (await limiter.check(check)).quota !== undefined, { what: 'Redis to be used' });
    expect(lines.join('')).toContain('Redis is used');
    expect(lines.join('')).not.toContain('hunter2');
    await setPassword('of-rms');
  });

  test('new connections use the current REDIS_URL_FILE and REDIS_CA_FILE', async () => {
    const [urlFile, caFile] = [join(folder, 'url'), join(folder, 'followed-ca.pem')];
    const url = new URL(server.url);
    url.username = 'rms';
    const writeUrl = (password: string) => {
      url.password = password;
      writeFileSync(urlFile, `${url.href}\n`);
    };
    writeUrl('of-rms');
    copyFileSync(untrusted.caFile, caFile);
    const limiter = await open({ REDIS_URL: '', REDIS_URL_FILE: urlFile, REDIS_CA_FILE: caFile });
    expect(await limiter.healthy()).toBe(false);
    copyFileSync(trusted.caFile, caFile);
    await waitUntil(() => limiter.healthy(), { what: 'the new CA to be used' });
    await setPassword('next-of-rms');
    await admin.call('CLIENT', 'KILL', 'USER', 'rms');
    await waitUntil(async () => !(await limiter.healthy()), { what: 'the old password to be rejected' });
    writeUrl('next-of-rms');
    await waitUntil(() => limiter.healthy(), { what: 'the new password to be used' });
    expect(lines.join('')).not.toContain('next-of-rms');
    await setPassword('of-rms');
  });

  test('a server that requires client certificates accepts only valid certificates', async () => {
    await admin.config('SET', 'tls-auth-clients', 'yes');
    try {
      const { certFile, keyFile } = trusted.issue('client');
      const outsider = untrusted.issue('client');
      const ca = { REDIS_CA_FILE: trusted.caFile };
      const limiter = await open({ ...ca, REDIS_CERT_FILE: certFile, REDIS_KEY_FILE: keyFile });
      expect(await limiter.healthy()).toBe(true);
      await stopAll();
      await failsWith(await open(ca), /certificate required|ECONNRESET|closed/);
      await stopAll();
      const foreign = { REDIS_CERT_FILE: outsider.certFile, REDIS_KEY_FILE: outsider.keyFile };
      await failsWith(await open({ ...ca, ...foreign }), /unknown ca|ECONNRESET|closed/i);
    } finally {
      await admin.config('SET', 'tls-auth-clients', 'optional');
    }
  });

  test('TLS files with a URL without TLS are rejected', async () => {
    const REDIS_URL = 'redis://:hunter2@redis.example';
    const { certFile, keyFile } = trusted.issue('client');
    const cert = { REDIS_CERT_FILE: certFile, REDIS_KEY_FILE: keyFile };
    await expect(open({ REDIS_URL, REDIS_CA_FILE: trusted.caFile })).rejects.toThrow(/^REDIS_CA_FILE is set.*rediss:/);
    await expect(open({ REDIS_URL, ...cert })).rejects.toThrow(/^REDIS_CERT_FILE is set.*rediss:/);
    await expect(open({ REDIS_URL: 'https://redis.example' })).rejects.toThrow(
      /^REDIS_URL: is not a URL that starts with redis:/,
    );
  });
});
