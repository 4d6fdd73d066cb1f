import { RmsError } from '@rms/base/errors';
import { createLogger } from '@rms/runtime/logging';
import { type Report, type Tally, UsageReporter } from '../../src/usage/index.ts';

interface Count extends Tally {
  calls: number;
}

const log = createLogger({ name: 'test', level: 'silent' });

/** Creates a reporter. `sent` contains its reports; `state.failure` makes the service fail. */
function setUp() {
  const sent: Report<Count>[] = [];
  const state = { nowMs: 600_000, elapsedMs: 0, failure: undefined as Error | undefined };
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
    elapsedMs: () => state.elapsedMs,
  });
  const count = (key: string, workspaceId = 'ws_1') => {
    const tally = reporter.tally(key, (name, minuteMs) => ({ key: name, workspaceId, minuteMs, calls: 0 }));
    if (tally) tally.calls += 1;
  };
  return { reporter, sent, state, count };
}

describe('UsageReporter', () => {
  test('sends each sum once, and no empty report', async () => {
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

  test('a report without a response is sent again unchanged; later counts are in the next report', async () => {
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

  test('a report without a response is sent again for six days; then the next report follows', async () => {
    const { reporter, sent, state, count } = setUp();
    const dayMs = 86_400_000;
    state.failure = new RmsError('service_unavailable');
    count('one');
    await reporter.flush();
    count('two');
    state.elapsedMs = 6 * dayMs;
    await reporter.flush();
    state.elapsedMs += 1;
    state.failure = undefined;
    await reporter.flush();
    expect(sent.map(({ sequence, tallies }) => [sequence, tallies[0]?.key])).toEqual([
      [1n, 'one'],
      [1n, 'one'],
      [2n, 'two'],
    ]);
  });

  test('waiting counts stay separate per minute', async () => {
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
      { key: 'one', workspaceId: 'ws_1', minuteMs: 600_000, calls: 2 },
      { key: 'one', workspaceId: 'ws_1', minuteMs: 660_000, calls: 2 },
    ]);
  });

  test('a report that is rejected as invalid does not block the next report', async () => {
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

  test('memory is bounded: excess subjects are not counted, and waiting counts are merged', async () => {
    const { reporter, sent, state, count } = setUp();
    const workspaceOf = (i: number) => `ws_${i % 20}`;
    for (let i = 0; i < 50_001; i += 1) count(`thing ${i}`, workspaceOf(i));
    state.failure = new RmsError('timeout');
    await reporter.flush();
    // 2,000 of the counts are in flight.
    state.nowMs += 60_000;
    for (let i = 0; i < 50_000; i += 1) count(`thing ${i}`, workspaceOf(i));
    await reporter.flush();
    state.failure = undefined;
    await reporter.flush();
    const last = sent.slice(-26).flatMap(({ tallies }) => tallies);
    expect(sent.every(({ tallies }) => tallies.length <= 2_000)).toBe(true);
    expect(last.some(({ key }) => key === 'thing 50000')).toBe(false);
    expect(last.length).toBeLessThanOrEqual(52_000);
    // The second minute of the first 2,000 subjects reached the limit, so the second minute of later subjects was
    // merged.
    expect(last.find(({ key }) => key === 'thing 49999')).toMatchObject({ minuteMs: 600_000, calls: 2 });
  });

  test('a workspace with many subjects leaves space to the others during a long outage', async () => {
    const { reporter, sent, state, count } = setUp();
    state.failure = new RmsError('timeout');
    for (let minute = 0; minute < 60; minute += 1) {
      for (let i = 0; i < 1_000; i += 1) count(`webhook ${i}`, 'ws_large');
      await reporter.flush();
      state.nowMs += 60_000;
    }
    count('webhook of another', 'ws_small');
    await reporter.flush();
    state.failure = undefined;
    await reporter.flush();
    const delivered = new Map(sent.map(({ sequence, tallies }) => [sequence, tallies]));
    const tallies = [...delivered.values()].flat();
    expect(tallies.filter(({ workspaceId }) => workspaceId === 'ws_small')).toMatchObject([{ calls: 1 }]);
    // Counts of later minutes are merged.
    expect(tallies.reduce((sum, { calls }) => sum + calls, 0)).toBe(60_001);
  });

  test('stop() sends the remaining counts', async () => {
    const { reporter, sent, count } = setUp();
    reporter.start();
    count('one');
    await reporter.stop();
    expect(sent).toHaveLength(1);
  });
});
