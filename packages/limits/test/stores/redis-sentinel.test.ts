import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { describeWith, makeCertificates, type RedisSentinels, startRedisSentinels, waitUntil } from '@rms/testkit';
import { type Limiter, openLimiter } from '../../src/index.ts';
import { monthOf } from '../../src/limit-check.ts';
import { check } from './redis-support.ts';

describeWith('redis-server', 'the limiter with Redis Sentinel', () => {
  const sentinelPassword = 'of-the-sentinels';
  let redis: RedisSentinels;
  let lines: string[];
  const limiters: Limiter[] = [];

  beforeEach(async () => {
    redis = await startRedisSentinels({ sentinelPassword });
    lines = [];
  });
  afterEach(async () => {
    await Promise.all(limiters.splice(0).map((limiter) => limiter.stop()));
    await redis.stop();
  });

  const open = async (env: NodeJS.ProcessEnv = {}) => {
    const log = createLogger({ name: 'limiter', destination: { write: (line) => void lines.push(line) } });
    const limiter = openLimiter(
      readSettings({
        REDIS_URL: `redis://${redis.name}`,
        REDIS_SENTINELS: redis.sentinels.join(','),
        REDIS_SENTINEL_PASSWORD: sentinelPassword,
        ...env,
      }),
      { log },
    );
    limiters.push(limiter);
    await limiter.start();
    return limiter;
  };
  /** Waits until a check is counted in Redis and trusts the markers. */
  const becomesCurrent = (limiter: Limiter, auth: Limiter) =>
    waitUntil(
      async () => {
        await auth.confirmMarkers(async () => {}).catch(() => {});
        const { freshness, quota } = await limiter.check({ ...check, keyId: `key_${Math.random()}` });
        return freshness === 'current' && quota !== undefined;
      },
      { what: 'the limits to be counted in Redis' },
    );

  test('the primary is killed: limits are local until the replica is promoted, then counts continue', async () => {
    const [auth, gateway] = [await open(), await open()];
    await becomesCurrent(gateway, auth);
    await waitUntil(async () => (await redis.servers[1].ask('get', quotaKey())) !== '', {
      what: 'the count to be copied',
    });
    const countBefore = Number(await redis.servers[1].ask('get', quotaKey()));
    await auth.setMarkers([{ ...check, version: 2 }]);

    await redis.servers[0].kill();
    await waitUntil(async () => (await gateway.check(check)).freshness === 'unknown', {
      what: 'the outage to be noticed',
    });
    // The outage is a degraded mode, without errors.
    expect(await gateway.check(check)).toMatchObject({ outcome: 'allowed', freshness: 'unknown' });
    await expect(auth.setMarkers([{ ...check, version: 3 }])).rejects.toThrow();

    await becomesCurrent(gateway, auth);
    expect(await redis.primary()).toBe(redis.servers[1]);
    expect(Number(await redis.servers[1].ask('get', quotaKey()))).toBeGreaterThan(countBefore);
    await auth.setMarkers([{ ...check, version: 4 }]);
    expect(await gateway.check({ ...check, keyVersion: 3 })).toMatchObject({ freshness: 'changed' });
    expect(await gateway.healthy()).toBe(true);
  });

  test('a primary that is demoted while it runs is replaced by the new one', async () => {
    const [auth, gateway] = [await open(), await open()];
    await becomesCurrent(gateway, auth);
    await redis.failOver();
    await becomesCurrent(gateway, auth);
    expect(await redis.primary()).toBe(redis.servers[1]);
  });

  test('a sentinel that is down is passed over', async () => {
    await redis.killSentinel(0);
    const limiter = await open();
    expect(await limiter.healthy()).toBe(true);
  });

  test('a wrong name, a wrong password of the sentinels: limits are local, and the log names the reason', async () => {
    const misnamed = await open({ REDIS_URL: 'redis://another-name' });
    expect(await misnamed.check(check)).toMatchObject({ outcome: 'allowed', freshness: 'unknown' });
    expect(lines.join('')).toMatch(/no sentinel knows the primary \\"another-name\\" .*does not monitor this name/);
    lines = [];
    const locked = await open({ REDIS_SENTINEL_PASSWORD: 'wrong-password' });
    expect(await locked.check(check)).toMatchObject({ outcome: 'allowed', freshness: 'unknown' });
    expect(lines.join('')).toMatch(/WRONGPASS/);
    expect(lines.join('')).not.toContain('wrong-password');
  });

  test('with TLS: servers and sentinels are verified, and a killed primary is replaced', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rms-redis-sentinels-'));
    const trusted = makeCertificates(join(folder, 'ours'));
    const tls = { ...trusted.issue('redis', { sans: ['127.0.0.1'] }), caFile: trusted.caFile };
    const plain = redis;
    redis = await startRedisSentinels({ sentinelPassword, tls });
    try {
      const env = { REDIS_URL: `rediss://${redis.name}`, REDIS_CA_FILE: trusted.caFile };
      const [auth, gateway] = [await open(env), await open(env)];
      await becomesCurrent(gateway, auth);
      const { caFile } = makeCertificates(join(folder, 'others'));
      const distrusting = await open({ ...env, REDIS_CA_FILE: caFile });
      expect(await distrusting.check(check)).toMatchObject({ outcome: 'allowed', freshness: 'unknown' });
      expect(lines.join('')).toMatch(/no sentinel knows the primary .*self-signed certificate in certificate chain/);
      await redis.servers[0].kill();
      await waitUntil(async () => (await redis.primary()) === redis.servers[1], { what: 'the failover' });
      await becomesCurrent(gateway, auth);
      expect(Number(await redis.servers[1].ask('get', quotaKey()))).toBeGreaterThan(0);
    } finally {
      await plain.stop();
      rmSync(folder, { recursive: true });
    }
  });

  test('sentinels that were all unreachable for a while are asked again', async () => {
    const limiter = await open();
    for (const index of [0, 1, 2]) redis.pauseSentinel(index, true);
    await redis.servers[0].ask('client', 'kill', 'type', 'normal');
    await waitUntil(() => /no sentinel knows the primary/.test(lines.join('')), { what: 'the sentinels to be missed' });
    for (const index of [0, 1, 2]) redis.pauseSentinel(index, false);
    await becomesCurrent(limiter, limiter);
  });

  function quotaKey(): string {
    return `rms:{${check.workspaceId}}:quota:live:${monthOf(Date.now()).month}`;
  }
});
