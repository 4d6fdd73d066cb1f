import { RmsError } from '@rms/errors';
import { createLogger } from '@rms/service';
import { type Report, type Tally, UsageReporter } from '../src/index.ts';

interface Count extends Tally {
  calls: number;
}

const log = createLogger({ name: 'test', level: 'silent' });

/** A reporter, what was sent, and a service that can be away. */
function setUp() {
  const sent: Report<Count>[] = [];
  const state = { nowMs: 600_000, failure: undefined as Error | undefined };
  const reporter = new UsageReporter<Count>({
    async send(report) {
      sent.push({ ...report, tallies: report.tallies.map((tally) => ({ ...tally })) });
      if (state.failure) throw state.failure;
    },
    add: (earlier, later) => {
      earlier.calls += later.calls;
    },
    log,
    now: () => state.nowMs,
  });
  const count = (key: string) => {
    const tally = reporter.tally(key, (name, minuteMs) => ({ key: name, minuteMs, calls: 0 }));
    if (tally) tally.calls += 1;
  };
  return { reporter, sent, state, count };
}

describe('UsageReporter', () => {
  test('sends sums, once each, and nothing when nothing was counted', async () => {
    const { reporter, sent, count } = setUp();
    await reporter.flush();
    expect(sent).toEqual([]);
    for (const key of ['one', 'two', 'one']) count(key);
    await reporter.flush();
    await reporter.flush();
    expect(sent).toMatchObject([
      {
        sequence: 1n,
        tallies: [
          { key: 'one', minuteMs: 600_000, calls: 2 },
          { key: 'two', calls: 1 },
        ],
      },
    ]);
  });

  test('a report without an answer is sent again as it was; what was counted meanwhile comes with the next one', async () => {
    const { reporter, sent, state, count } = setUp();
    state.failure = new RmsError('service_unavailable');
    count('one');
    await reporter.flush();
    count('one');
    await reporter.flush();
    state.failure = undefined;
    await reporter.flush();
    expect(sent.map(({ sequence, tallies }) => [sequence, tallies[0]?.calls])).toEqual([
      [1n, 1],
      [1n, 1],
      [1n, 1],
      [2n, 1],
    ]);
    expect(new Set(sent.map(({ reporterId }) => reporterId)).size).toBe(1);
  });

  test('counts that wait keep their minutes apart', async () => {
    const { reporter, sent, state, count } = setUp();
    state.failure = new RmsError('timeout');
    count('first');
    await reporter.flush();
    for (const nowMs of [601_000, 659_999, 660_000, 661_000]) {
      state.nowMs = nowMs;
      count('one');
      await reporter.flush();
    }
    state.failure = undefined;
    await reporter.flush();
    expect(sent.at(-1)?.tallies).toEqual([
      { key: 'one', minuteMs: 600_000, calls: 2 },
      { key: 'one', minuteMs: 660_000, calls: 2 },
    ]);
  });

  test('a report that is refused for what is in it does not hold up the next one', async () => {
    const { reporter, sent, state, count } = setUp();
    state.failure = new RmsError('invalid_request');
    count('one');
    await reporter.flush();
    state.failure = undefined;
    count('two');
    await reporter.flush();
    expect(sent.map(({ sequence, tallies }) => [sequence, tallies[0]?.key])).toEqual([
      [1n, 'one'],
      [2n, 'two'],
    ]);
  });

  test('memory is bounded: more things than can be told apart are not counted, counts that wait lose their minute', async () => {
    const { reporter, sent, state, count } = setUp();
    for (let i = 0; i < 50_001; i += 1) count(`thing ${i}`);
    state.failure = new RmsError('timeout');
    await reporter.flush();
    // 10,000 of them are on their way.
    state.nowMs += 60_000;
    for (let i = 0; i < 50_000; i += 1) count(`thing ${i}`);
    await reporter.flush();
    state.failure = undefined;
    await reporter.flush();
    const last = sent.slice(-6).flatMap(({ tallies }) => tallies);
    expect(sent.every(({ tallies }) => tallies.length <= 10_000)).toBe(true);
    expect(last.some(({ key }) => key === 'thing 50000')).toBe(false);
    expect(last.length).toBeLessThanOrEqual(60_000);
    // Things 40,000 and more had no room for a second minute.
    expect(last.find(({ key }) => key === 'thing 49999')).toMatchObject({ minuteMs: 600_000, calls: 2 });
  });

  test('stop sends what is left', async () => {
    const { reporter, sent, count } = setUp();
    reporter.start();
    count('one');
    await reporter.stop();
    expect(sent).toHaveLength(1);
  });
});
