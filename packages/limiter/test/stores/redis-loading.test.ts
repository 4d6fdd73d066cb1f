import { createLogger } from '@rms/logging';
import { describeWith, waitUntil } from '@rms/testkit';
import { openRedisBench, type RedisBench } from './redis-support.ts';

describeWith('redis-server', 'Redis that loads its data', () => {
  let bench: RedisBench;
  let lines: string[];
  let restarting: Promise<void>;
  beforeEach(async () => {
    lines = [];
    // A millisecond per key.
    bench = await openRedisBench({ 'key-load-delay': '1000', 'loading-process-events-interval-bytes': '1024' });
    await bench.raw(async (redis) => {
      const pipeline = redis.pipeline();
      for (let i = 0; i < 4_000; i += 1) pipeline.set(`other:${i}`, i);
      await pipeline.exec();
      await redis.save();
    });
  });
  afterEach(async () => {
    await restarting;
    await bench.stop();
  });

  const log = createLogger({ name: 'limiter', level: 'info', destination: { write: (line) => void lines.push(line) } });
  const logged = () => lines.map((line) => JSON.parse(line));
  const isLoading = async () => (await bench.server.ask('PING').catch(String)).includes('LOADING');
  const restart = async () => {
    restarting = bench.server.restart();
    await waitUntil(isLoading, { what: 'Redis to load its data' });
  };
  const loading = {
    level: 'warn',
    percent: expect.any(Number),
    msg: 'Redis is loading its data; until then, limits are enforced locally and auth verifies keys',
  };

  test('a limiter that starts meanwhile says so, and uses Redis when the data are loaded', async () => {
    await restart();
    const limiter = await bench.open({ log });
    expect(await isLoading()).toBe(true);
    await bench.becomes(limiter, 'unknown');
    expect(await limiter.healthy()).toBe(false);
    await waitUntil(() => logged().length > 0, { what: 'the line about the data' });
    await restarting;
    await bench.becomesTrusting(limiter);
    expect(await limiter.healthy()).toBe(true);
    expect(logged()).toMatchObject([loading, { level: 'info', msg: 'Redis is used' }]);
  });

  test('a limiter that used it before says so as well', async () => {
    const limiter = await bench.openTrusting({ log });
    await bench.becomesTrusting(limiter);
    await restart();
    await bench.becomes(limiter, 'unknown');
    await restarting;
    await bench.becomesTrusting(limiter);
    const of = ({ level, msg }: { level: string; msg: string }) => ({ level, msg });
    expect(logged().map(of)).toEqual(
      expect.arrayContaining([
        { level: 'warn', msg: 'stopped using Redis; limits are enforced locally and auth verifies keys' },
        { level: 'warn', msg: loading.msg },
        { level: 'info', msg: 'Redis is used' },
      ]),
    );
    expect(logged().filter(({ msg }) => msg === loading.msg)).toHaveLength(1);
  });
});
