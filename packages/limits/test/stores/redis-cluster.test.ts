import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { slotOf } from '@rms/redis';
import { createLogger } from '@rms/runtime/logging';
import { readSettings, SettingsError } from '@rms/runtime/settings';
import {
  describeWith,
  makeCertificates,
  type RedisCluster,
  type RedisServer,
  startRedisCluster,
  testServer,
  waitUntil,
} from '@rms/testkit';
import { type Limiter, markersTrustMs, openLimiter } from '../../src/index.ts';
import { monthOf } from '../../src/limit-check.ts';
import { check } from './redis-support.ts';

describeWith(['redis', 'redis-server'], 'the limiter on a Redis Cluster', () => {
  let cluster: RedisCluster;
  let lines: string[];
  const limiters: Limiter[] = [];
  beforeEach(async () => {
    cluster = await startRedisCluster();
    lines = [];
  });
  afterEach(async () => {
    await Promise.all(limiters.splice(0).map((limiter) => limiter.stop()));
    await cluster.stop();
  });

  const open = async (env: NodeJS.ProcessEnv = {}) => {
    const log = createLogger({ name: 'limiter', destination: { write: (line) => void lines.push(line) } });
    const settings = readSettings({ REDIS_URL: cluster.url, REDIS_CLUSTER: 'true', ...env });
    const limiter = openLimiter(settings, { log });
    limiters.push(limiter);
    await limiter.start();
    return limiter;
  };
  /** Workspace with keys on a primary. */
  const workspaceOn = (index: number) => {
    for (let number = 0; ; number += 1) {
      const workspaceId = `ws_${number}`;
      if (Math.min(2, Math.floor(slotOf(workspaceId) / 5461)) === index) return workspaceId;
    }
  };
  const checkOn = (limiter: Limiter, index: number) =>
    limiter.check({ ...check, workspaceId: workspaceOn(index), keyId: `key_${Math.random()}` });
  const becomesCurrent = (limiter: Limiter, auth: Limiter, index: number) =>
    waitUntil(
      async () => {
        await auth.confirmMarkers(async () => {}).catch(() => {});
        const { freshness, quota } = await checkOn(limiter, index);
        return freshness === 'current' && quota !== undefined;
      },
      { what: `the limits to be counted on primary ${index}` },
    );
  const usedOf = async (node: RedisServer, index: number) =>
    Number(await node.ask('get', `rms:{${workspaceOn(index)}}:quota:live:${monthOf(Date.now()).month}`));

  test('limits, markers and failures are divided among the primaries', async () => {
    const [auth, gateway] = [await open(), await open()];
    for (const [index, node] of cluster.primaries.entries()) {
      await becomesCurrent(gateway, auth, index);
      expect(await usedOf(node, index)).toBeGreaterThan(0);
      const key = { ...check, workspaceId: workspaceOn(index) };
      await auth.setMarkers([{ ...key, version: 2 }]);
      expect(await gateway.check(key)).toMatchObject({ freshness: 'changed' });
    }
    const addresses = Array.from({ length: 20 }, (_, number) => `192.0.2.${number}`);
    expect(await Promise.all(addresses.map((address) => gateway.countFailure(address)))).toEqual(
      addresses.map(() => 0),
    );
    const kept = await Promise.all(cluster.primaries.map((node) => node.ask('keys', 'rms:failures:*')));
    for (const keys of kept) expect(keys).toContain('rms:failures:');
    await auth.raiseQuotas(
      [0, 1, 2].map((index) => ({
        workspaceId: workspaceOn(index),
        environment: 'live',
        monthMs: Date.now(),
        used: 500,
      })),
    );
    for (const [index, node] of cluster.primaries.entries()) expect(await usedOf(node, index)).toBe(500);
    expect(await gateway.healthy()).toBe(true);
  });

  test('a check takes one command and one round trip; checks in one turn share it per primary', async () => {
    const gateway = await open({ RATE_LIMIT_REQUESTS: '100000' });
    const key = { ...check, workspaceId: workspaceOn(0) };
    await waitUntil(async () => (await gateway.check(key)).quota !== undefined, { what: 'Redis to be used' });
    const [node] = cluster.primaries;
    const read = async () => {
      const stats = await node.ask('info', 'everything');
      const calls = [...stats.matchAll(/cmdstat_evalsha:calls=(\d+)/g)].reduce(
        (sum, [, calls]) => sum + Number(calls),
        0,
      );
      return { calls, reads: Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]) };
    };
    const before = await read();
    await Promise.all(Array.from({ length: 100 }, () => gateway.check(key)));
    const after = await read();
    expect(after.calls - before.calls).toBe(100);
    // Allowance for probes, and for reads by this test.
    expect(after.reads - before.reads).toBeLessThan(25);
  });

  test('a primary is killed: only its workspaces have local limits, until its replica is promoted', async () => {
    const [auth, gateway] = [await open(), await open()];
    for (const index of [0, 1, 2]) await becomesCurrent(gateway, auth, index);
    await cluster.primaries[0].kill();
    await waitUntil(async () => (await checkOn(gateway, 0)).quota === undefined, { what: 'the outage to be noticed' });
    expect(await checkOn(gateway, 0)).toMatchObject({ outcome: 'allowed', freshness: 'unknown' });
    expect((await checkOn(gateway, 1)).quota).toBeDefined();
    await expect(auth.setMarkers([{ ...check, workspaceId: workspaceOn(0), version: 3 }])).rejects.toThrow();
    await becomesCurrent(gateway, auth, 0);
    expect(await usedOf(cluster.replica, 0)).toBeGreaterThan(0);
    expect(await gateway.healthy()).toBe(true);
  });

  test('a primary stays down: keys on the others are still trusted, and a revocation there takes effect', async () => {
    for (const node of cluster.primaries) await node.ask('config', 'set', 'cluster-require-full-coverage', 'no');
    const [auth, gateway] = [await open(), await open()];
    for (const index of [0, 1, 2]) await becomesCurrent(gateway, auth, index);
    await cluster.replica.kill();
    await cluster.primaries[0].kill();
    await waitUntil(async () => (await checkOn(gateway, 0)).freshness === 'unknown', { what: 'the outage' });
    const changeOn = (index: number) => ({ workspaceId: workspaceOn(index), keyId: 'key_changed', version: 2 });
    const pending = [changeOn(0), changeOn(1)];
    let done: readonly object[] = [];
    const confirm = () =>
      auth
        .confirmMarkers(async (set) => {
          done = await set(pending);
        })
        .then(
          () => 'all',
          () => 'some',
        );
    const untilMs = async () =>
      Number(await cluster.primaries[1].ask('time').then((time) => time.split('\n')[0])) * 1_000;
    await waitUntil(async () => (await confirm()) === 'some' && done.length === 1, {
      what: 'the rest to be confirmed',
    });
    expect(done).toEqual([changeOn(1)]);
    await becomesCurrent(gateway, auth, 1);
    // Longer than any trust from before the outage.
    const startedAtMs = await untilMs();
    await waitUntil(
      async () => {
        await confirm();
        for (const index of [1, 2]) expect((await checkOn(gateway, index)).freshness).toBe('current');
        expect((await checkOn(gateway, 0)).freshness).toBe('unknown');
        return (await untilMs()) > startedAtMs + markersTrustMs + 1_000;
      },
      { what: 'the trust from before the outage to end', everyMs: 250 },
    );
    const checkChanged = { ...check, ...changeOn(1), keyVersion: 1 };
    expect(await gateway.check(checkChanged)).toMatchObject({ freshness: 'changed' });
  });

  test('a slot that moves to another primary is followed, with its counts and markers', async () => {
    const [auth, gateway] = [await open(), await open()];
    await becomesCurrent(gateway, auth, 0);
    const key = { ...check, workspaceId: workspaceOn(0) };
    await auth.setMarkers([{ ...key, version: 2 }]);
    const used = await usedOf(cluster.primaries[0], 0);
    let lost = 0;
    gateway.onMarkersLost(() => {
      lost += 1;
    });
    await cluster.moveSlot(slotOf(workspaceOn(0)), cluster.primaries[0], cluster.primaries[2]);
    await becomesCurrent(gateway, auth, 0);
    expect(lost).toBeGreaterThan(0);
    expect(await usedOf(cluster.primaries[2], 0)).toBeGreaterThan(used);
    expect(await gateway.check(key)).toMatchObject({ freshness: 'changed' });
    const canSet = () =>
      auth.setMarkers([{ ...key, version: 3 }]).then(
        () => true,
        () => false,
      );
    await waitUntil(canSet, { what: 'auth to know the new owner' });
  });

  test('a flush of any primary is noticed', async () => {
    const [auth, gateway] = [await open(), await open()];
    for (const index of [0, 1, 2]) await becomesCurrent(gateway, auth, index);
    for (const node of cluster.primaries) {
      let lost = 0;
      const end = gateway.onMarkersLost(() => {
        lost += 1;
      });
      await node.ask('flushall');
      await waitUntil(() => lost > 0, { what: 'the loss to be noticed' });
      end();
    }
  });

  test('with TLS: nodes are verified, and a killed primary is replaced', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rms-redis-cluster-'));
    const trusted = makeCertificates(join(folder, 'ours'));
    const files = { ...trusted.issue('redis', { sans: ['127.0.0.1'] }), caFile: trusted.caFile };
    const plain = cluster;
    cluster = await startRedisCluster({ tls: files });
    try {
      const env = { REDIS_CA_FILE: trusted.caFile };
      const [auth, gateway] = [await open(env), await open(env)];
      for (const [index, node] of cluster.primaries.entries()) {
        await becomesCurrent(gateway, auth, index);
        expect(await usedOf(node, index)).toBeGreaterThan(0);
      }
      const { caFile } = makeCertificates(join(folder, 'others'));
      const distrusting = await open({ REDIS_CA_FILE: caFile });
      expect(await checkOn(distrusting, 1)).toMatchObject({ outcome: 'allowed', freshness: 'unknown' });
      expect(lines.join('')).toContain('self-signed certificate in certificate chain');
      await cluster.primaries[0].kill();
      await becomesCurrent(gateway, auth, 0);
      expect(await usedOf(cluster.replica, 0)).toBeGreaterThan(0);
    } finally {
      await plain.stop();
      rmSync(folder, { recursive: true });
    }
  });

  test('a server that is not a cluster, a cluster without REDIS_CLUSTER: the start names the setting', async () => {
    const notCluster = open({ REDIS_URL: testServer('redis') });
    await expect(notCluster).rejects.toThrow(
      'REDIS_CLUSTER is true, but the server of REDIS_URL is not a Redis Cluster',
    );
    await expect(notCluster).rejects.toBeInstanceOf(SettingsError);
    await expect(open({ REDIS_CLUSTER: 'false' })).rejects.toThrow(
      /belongs to a Redis Cluster; set REDIS_CLUSTER=true$/,
    );
  });
});
