import { createLogger } from '@rms/runtime/logging';
import { superviseWorkers, type Worker, type WorkerHealth } from '@rms/runtime/service';
import { waitUntil } from '@rms/testkit';

function memoryLog() {
  const lines: { worker: string; msg: string; level: string }[] = [];
  const log = createLogger({ name: 'unit', destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  return { log, lines };
}

/** Resolves when the signal aborts. */
function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

describe('superviseWorkers', () => {
  test('restarts a worker that throws or returns, and logs it', async () => {
    const { log, lines } = memoryLog();
    let runs = 0;
    const worker: Worker = {
      name: 'shaky',
      async run(signal) {
        runs += 1;
        if (runs === 1) throw new Error('first');
        if (runs === 2) return;
        await untilAborted(signal);
      },
    };
    const supervisor = superviseWorkers([worker], log);
    await waitUntil(() => runs === 3, { what: 'the third run' });
    await supervisor.stop();
    expect(lines.map(({ worker: name, msg }) => [name, msg])).toEqual([
      ['shaky', 'worker failed'],
      ['shaky', 'worker ended unexpectedly'],
    ]);
  });

  test('reports the workers that are not running', async () => {
    const { log } = memoryLog();
    let broken = true;
    const flaky: Worker = {
      name: 'flaky',
      async run(signal) {
        if (broken) throw new Error('broken');
        await untilAborted(signal);
      },
    };
    const supervisor = superviseWorkers([flaky, { name: 'steady', run: untilAborted }], log);
    await waitUntil(() => supervisor.failing().length > 0, { what: 'the failure' });
    expect(supervisor.failing()).toEqual(['flaky']);
    broken = false;
    await waitUntil(() => supervisor.failing().length === 0, { what: 'the recovery' });
    await supervisor.stop();
  });

  test('a worker that reports its health is failing while stuck, and after a failure until it reports success', async () => {
    const { log } = memoryLog();
    let health: WorkerHealth | undefined;
    let runs = 0;
    let fail = (_: Error) => {};
    const worker: Worker = {
      name: 'telling',
      run: (signal, given) => {
        runs += 1;
        health = given;
        return Promise.race([untilAborted(signal), new Promise<void>((_, reject) => (fail = reject))]);
      },
    };
    const supervisor = superviseWorkers([worker], log);
    health?.working();
    expect(supervisor.failing()).toEqual([]);
    health?.stuck();
    expect(supervisor.failing()).toEqual(['telling']);
    health?.working();
    fail(new Error('broken'));
    await waitUntil(() => runs === 2, { what: 'the second run' });
    expect(supervisor.failing()).toEqual(['telling']);
    health?.working();
    expect(supervisor.failing()).toEqual([]);
    await supervisor.stop();
  });

  test('a failing worker does not affect the others', async () => {
    const { log } = memoryLog();
    let steadyRuns = 0;
    let failures = 0;
    const supervisor = superviseWorkers(
      [
        {
          name: 'failing',
          async run() {
            failures += 1;
            throw new Error('again');
          },
        },
        {
          name: 'steady',
          async run(signal) {
            steadyRuns += 1;
            await untilAborted(signal);
          },
        },
      ],
      log,
    );
    await waitUntil(() => failures >= 3, { what: 'three failures' });
    expect(steadyRuns).toBe(1);
    await supervisor.stop();
  });

  test('stop() waits until every worker has drained, also while another worker waits for its restart', async () => {
    const { log } = memoryLog();
    let drained = false;
    const supervisor = superviseWorkers(
      [
        {
          name: 'draining',
          async run(signal) {
            await untilAborted(signal);
            await new Promise((resolve) => setImmediate(resolve));
            drained = true;
          },
        },
        {
          name: 'failing',
          async run() {
            throw new Error('again');
          },
        },
      ],
      log,
    );
    await waitUntil(() => supervisor.failing().includes('failing'), { what: 'the failure' });
    await supervisor.stop();
    expect(drained).toBe(true);
  });

  test('an error after the abort is not a failure', async () => {
    const { log, lines } = memoryLog();
    const supervisor = superviseWorkers(
      [
        {
          name: 'polite',
          async run(signal) {
            await untilAborted(signal);
            signal.throwIfAborted();
          },
        },
      ],
      log,
    );
    await supervisor.stop();
    expect(lines).toEqual([]);
  });
});
