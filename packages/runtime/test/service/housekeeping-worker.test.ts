import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { createHousekeepingWorker, type HousekeepingTasks } from '@rms/runtime/service';
import { waitUntil } from '@rms/testkit';

describe('createHousekeepingWorker', () => {
  const start = (tasks: HousekeepingTasks, taskMs?: number) => {
    const metrics = createMetrics('unit');
    const log = createLogger({ name: 'unit', level: 'silent' });
    const worker = createHousekeepingWorker({ tasks, everyMs: 3_600_000, log, metrics, ...(taskMs && { taskMs }) });
    const abort = new AbortController();
    const ended = worker.run(abort.signal);
    const stop = () => {
      abort.abort();
      return ended;
    };
    const failuresOf = async (task: string) => {
      const { values } = (await metrics.getSingleMetric('rms_housekeeping_failures_total')?.get()) ?? { values: [] };
      return values.find(({ labels }) => labels.task === task)?.value;
    };
    const succeededAt = async () => {
      const gauge = metrics.getSingleMetric('rms_housekeeping_success_timestamp_seconds');
      return (await gauge?.get())?.values[0]?.value ?? 0;
    };
    return { stop, failuresOf, succeededAt };
  };

  test('runs each task at its own interval', async () => {
    const runs = { rarely: 0, often: 0 };
    const { stop } = start({
      rarely: async () => {
        runs.rarely += 1;
      },
      often: {
        everyMs: 1,
        run: async () => {
          runs.often += 1;
        },
      },
    });
    await waitUntil(() => runs.often >= 3, { what: 'the frequent task' });
    await stop();
    expect(runs.rarely).toBe(1);
  });

  test('a failing task is counted, blocks no other task, and prevents a successful pass', async () => {
    let runs = 0;
    const order: string[] = [];
    const { stop, failuresOf, succeededAt } = start({
      broken: {
        everyMs: 1,
        run: async () => {
          runs += 1;
          if (runs < 3) throw new Error('broken');
        },
      },
      other: async () => void order.push('other'),
    });
    const startedAt = await succeededAt();
    await waitUntil(async () => (await succeededAt()) > startedAt, { what: 'a successful pass' });
    await stop();
    expect(runs).toBeGreaterThanOrEqual(3);
    expect(order).toEqual(['other']);
    expect([await failuresOf('broken'), await failuresOf('other')]).toEqual([2, 0]);
  });

  test('a task with too much work for one pass lets the others run, and continues without its interval', async () => {
    const order: string[] = [];
    const { stop, failuresOf } = start(
      {
        async long(signal) {
          order.push('long');
          if (order.length < 4)
            await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        },
        other: async () => void order.push('other'),
      },
      1,
    );
    await waitUntil(() => order.length === 4, { what: 'the end of the long task' });
    await stop();
    expect(order).toEqual(['long', 'other', 'long', 'long']);
    expect(await failuresOf('long')).toBe(0);
  });
});
