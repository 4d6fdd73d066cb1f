import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@rms/runtime/logging';
import { describeWith, waitUntil } from '@rms/testkit';
import type { Redis } from 'ioredis';
import { openRedisBench, type RedisBench, timeOf } from './redis-support.ts';

describeWith('redis-server', 'Redis that runs but rejects or evicts data', () => {
  let bench: RedisBench;
  let folder: string;
  let lines: string[];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rms-redis-'));
    lines = [];
    bench = await openRedisBench({ dir: folder });
  });
  afterEach(async () => {
    await bench.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const log = createLogger({ name: 'limiter', level: 'warn', destination: { write: (line) => void lines.push(line) } });
  const verbose = createLogger({ name: 'limiter', destination: { write: (line) => void lines.push(line) } });
  const logged = () => lines.map((line) => JSON.parse(line));
  const configure = (settings: Readonly<Record<string, string>>) =>
    bench.raw(async (redis) => {
      for (const [name, value] of Object.entries(settings)) await redis.config('SET', name, value);
    });
  /** Returns when a limiter registered last, in milliseconds since 1970. */
  const registeredAt = async (redis: Redis) =>
    Number((await redis.zrange('rms:limiters', '-1', '-1', 'WITHSCORES'))[1]);
  /** Stores 5 MB. */
  const fill = () =>
    bench.raw(async (redis) => {
      for (let i = 0; i < 100; i += 1) await redis.set(`other:${i}`, 'x'.repeat(50_000));
    });
  /** Expects local limits with the reason in the log, once, and Redis to be used again after `repair`. */
  const isRejected = async (reason: RegExp, reject: () => Promise<void>, repair: () => Promise<unknown>) => {
    const limiter = await bench.openTrusting({ log });
    await reject();
    await bench.becomes(limiter, 'unknown');
    await waitUntil(() => logged().some(({ level }) => level === 'error'), { what: 'the reason' });
    await repair();
    await bench.becomesTrusting(limiter);
    const errors = logged().filter(({ level }) => level === 'error');
    expect(errors).toMatchObject([
      {
        msg: 'Redis cannot be used; limits are enforced locally and auth verifies keys',
        err: { message: expect.stringMatching(reason) },
      },
    ]);
  };

  test('its memory is full: limits are enforced locally until there is room', async () => {
    await isRejected(
      /OOM/,
      () => configure({ maxmemory: '1' }),
      () => configure({ maxmemory: '0' }),
    );
  });

  test('its memory is full again and again: it rests after the second time, with one line per change', async () => {
    const full = () => configure({ maxmemory: '1' });
    const hasRoom = () => configure({ maxmemory: '0' });
    const limiter = await bench.openTrusting({ log: verbose });
    await bench.becomesTrusting(limiter);
    await full();
    await bench.becomes(limiter, 'unknown');
    await hasRoom();
    await bench.becomesTrusting(limiter);
    for (let i = 0; i < 5; i += 1) {
      await full();
      await bench.becomes(limiter, 'unknown');
      await hasRoom();
      const before = await bench.raw(timeOf);
      // A probe that succeeds registers the limiter.
      await waitUntil(() => bench.raw(async (redis) => (await registeredAt(redis)) > before), { what: 'a probe' });
      await bench.becomes(limiter, 'unknown');
    }
    const stopped = {
      level: 'warn',
      err: { message: expect.stringMatching(/OOM/) },
      msg: 'stopped using Redis; limits are enforced locally and auth verifies keys',
    };
    const used = { level: 'info', msg: 'Redis is used' };
    const reasons = logged().filter(({ level }) => level === 'error');
    const changes = logged().filter(({ level }) => level !== 'error');
    expect(changes).toMatchObject([used, stopped, used, { ...stopped, rest_seconds: 60 }]);
    // The reading and the writing command's reasons.
    expect(reasons.length).toBeLessThanOrEqual(2);
  });

  test('after the rest it is used again', async () => {
    const limiter = await bench.openTrusting({ restMs: 500 });
    for (let i = 0; i < 3; i += 1) {
      await bench.becomesTrusting(limiter);
      await configure({ maxmemory: '1' });
      await bench.becomes(limiter, 'unknown');
      await configure({ maxmemory: '0' });
    }
    await bench.becomesTrusting(limiter);
  });

  test('it cannot save its data: limits are enforced locally until it can', async () => {
    await isRejected(
      /MISCONF/,
      async () => {
        await configure({ save: '3600 1' });
        rmSync(folder, { recursive: true });
        await bench.raw(async (redis) => {
          await redis.bgsave();
          await waitUntil(async () => /rdb_last_bgsave_status:err/.test(await redis.info('persistence')), {
            what: 'the failure to save',
          });
        });
      },
      () => configure({ save: '' }),
    );
  });

  test('it became a replica: limits are enforced locally until it is a primary', async () => {
    const follow = (host: string, port: string) => bench.raw((redis) => redis.call('REPLICAOF', host, port));
    await isRejected(
      /READONLY/,
      async () => void (await follow('127.0.0.1', '1')),
      () => follow('NO', 'ONE'),
    );
  });

  test('it evicts keys: auth verifies keys until it has stopped evicting', async () => {
    const limiter = await bench.openTrusting({ log, restMs: 500 });
    let lost = 0;
    limiter.onMarkersLost(() => {
      lost += 1;
    });
    await bench.becomesTrusting(limiter);
    lost = 0;
    await bench.raw(async (redis) => {
      const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
      await redis.config('SET', 'maxmemory-policy', 'allkeys-random', 'maxmemory', String(used + 1_000_000));
    });
    await waitUntil(() => logged().length > 0, { what: 'the warning about the policy' });
    await fill();
    await bench.becomes(limiter, 'unknown');
    expect(lost).toBeGreaterThan(0);
    expect(logged()).toMatchObject([
      {
        policy: 'allkeys-random',
        msg: 'maxmemory-policy of Redis is not noeviction; keys that it evicts may be revocation markers',
      },
      {
        policy: 'allkeys-random',
        msg: 'Redis evicts keys; auth verifies keys. Set maxmemory-policy to noeviction, or increase maxmemory',
      },
    ]);
    await configure({ maxmemory: '0' });
    await bench.becomesTrusting(limiter);
  });
});
