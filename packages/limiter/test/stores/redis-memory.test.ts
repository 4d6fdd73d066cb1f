import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@rms/logging';
import { describeWith, waitUntil } from '@rms/testkit';
import { openRedisBench, type RedisBench } from './redis-support.ts';

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
  const logged = () => lines.map((line) => JSON.parse(line));
  const configure = (settings: Readonly<Record<string, string>>) =>
    bench.raw(async (redis) => {
      for (const [name, value] of Object.entries(settings)) await redis.config('SET', name, value);
    });
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
    const limiter = await bench.openTrusting({ log, evictionRestMs: 500 });
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
