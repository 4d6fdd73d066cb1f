import { createLogger } from '@rms/runtime/logging';
import { describeWith, isLoadingData, perTest, restartWithData, slowLoading, waitUntil } from '@rms/testkit';
import { openRedisBench } from './redis-support.ts';

describeWith('redis-server', 'Redis that loads its data', () => {
  let lines: string[];
  const bench = perTest(() => openRedisBench(slowLoading));
  beforeEach(() => {
    lines = [];
  });

  const log = createLogger({ name: 'limiter', level: 'info', destination: { write: (line) => void lines.push(line) } });
  const logged = () => lines.map((line) => JSON.parse(line));
  const loading = {
    level: 'warn',
    percent: expect.any(Number),
    msg: 'Redis is loading its data; until then, limits are enforced locally and auth verifies keys',
  };

  test('a limiter that starts meanwhile says so, and uses Redis when the data are loaded', async () => {
    const { loaded } = await restartWithData(bench.server);
    const limiter = await bench.open({ log });
    expect(await isLoadingData(bench.server)).toBe(true);
    await bench.becomes(limiter, 'unknown');
    expect(await limiter.healthy()).toBe(false);
    await waitUntil(() => logged().length > 0, { what: 'the line about the data' });
    await loaded;
    await bench.becomesTrusting(limiter);
    expect(await limiter.healthy()).toBe(true);
    expect(logged()).toMatchObject([loading, { level: 'info', msg: 'Redis is used' }]);
  });

  test('a limiter that used it before says so as well', async () => {
    const limiter = await bench.openTrusting({ log });
    await bench.becomesTrusting(limiter);
    const { loaded } = await restartWithData(bench.server);
    await bench.becomes(limiter, 'unknown');
    await loaded;
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
