import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { createEmptyTestResult } from '@jest/test-result';

const program = join(import.meta.dirname, 'worker.mjs');

/**
 * Runner of jest (`runner` in jest.config.mjs). `maxWorkers` processes run the test files; files of the same process
 * share its modules. Node itself loads the files (worker.mjs). After each file the process compares its state with the
 * state before; a file that leaves something behind fails, and the next file gets a new process.
 *
 * Options, with regular expressions on paths relative to the root:
 * - `isolated`: expressions; a matching file has its own process, with a state that is not compared.
 * - `setup`: `[{files, module}]`; the module is loaded before each file that matches `files`. Files with and without it
 *   do not share a process.
 * - `closingMs`: time within which sockets, servers and processes must close after a file. Only a file that leaves
 *   something behind takes it.
 */
export default class {
  supportsEventEmitters = false;
  isSerial = false;
  #globalConfig;
  #options;

  constructor(globalConfig, _context, { isolated = [], setup = [], closingMs = 10_000 } = {}) {
    this.#globalConfig = globalConfig;
    this.#options = {
      isolated: isolated.map((files) => new RegExp(files)),
      setup: setup.map(({ files, module }) => ({ files: new RegExp(files), module })),
      closingMs,
    };
  }

  /** Resolves when every file has its result, or soon after `watcher` was interrupted. */
  async runTests(tests, watcher, onStart, onResult, onFailure) {
    const queue = tests.map((test) => ({ test, ...this.#placeOf(test) }));
    const slots = Array.from({ length: this.#globalConfig.maxWorkers }, async (_, index) => {
      let worker;
      while (queue.length > 0 && !watcher.isInterrupted()) {
        const job = take(queue, worker?.group);
        if (worker && (worker.group !== job.group || !worker.isReusable)) await worker.stop();
        if (worker?.group !== job.group || !worker.isReusable) worker = new Worker(index + 1, job.group);
        await onStart(job.test);
        try {
          await onResult(job.test, resultOf(job.test, await worker.run(this.#message(job))));
        } catch (error) {
          await onFailure(job.test, { message: error.message, stack: '' });
        }
      }
      await worker?.stop();
    });
    await Promise.all(slots);
  }

  /** Returns the setup modules of a test file, and the group of files that may share its process; '' = none. */
  #placeOf({ path, context }) {
    const file = relative(context.config.rootDir, path);
    const setup = this.#options.setup.filter(({ files }) => files.test(file)).map(({ module }) => module);
    const isIsolated = this.#options.isolated.some((files) => files.test(file));
    return { setup, isIsolated, group: isIsolated ? file : setup.join() };
  }

  #message({ test, setup, isIsolated }) {
    const { testNamePattern, testTimeout, randomize, seed } = this.#globalConfig;
    const { rootDir } = test.context.config;
    return {
      path: test.path,
      setup: setup.map((module) => join(rootDir, module)),
      closingMs: isIsolated ? undefined : this.#options.closingMs,
      circus: { testNamePattern, testTimeout: testTimeout ?? 5_000, randomize, seed },
    };
  }
}

/** Removes the next job from the queue: the first one of this group, otherwise the first one. */
function take(queue, group) {
  const index = queue.findIndex((job) => job.group === group);
  return queue.splice(Math.max(index, 0), 1)[0];
}

/** A process that runs test files one after the other. */
class Worker {
  /** Whether the process can run another file. */
  isReusable = true;
  group;
  #child;
  #exited;

  constructor(id, group) {
    this.group = group;
    this.#child = fork(program, {
      env: { ...process.env, JEST_WORKER_ID: `${id}` },
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child.stdout.pipe(process.stderr, { end: false });
    this.#child.stderr.pipe(process.stderr, { end: false });
    this.#exited = once(this.#child, 'exit');
  }

  /** Resolves to the outcome that worker.mjs sends. Rejects if the process ends before. */
  async run(message) {
    const abort = new AbortController();
    try {
      this.#child.send(message);
      const [outcome] = await Promise.race([
        once(this.#child, 'message', { signal: abort.signal }),
        this.#exited.then(([code, signal]) => {
          throw new Error(`The worker process ended (${signal ?? `exit code ${code}`}) while it ran this file.`);
        }),
      ]);
      this.isReusable = outcome.isReusable;
      return outcome;
    } catch (error) {
      this.isReusable = false;
      throw error;
    } finally {
      abort.abort();
    }
  }

  async stop() {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
  }
}

/**
 * Returns a file's outcome as jest's TestResult.
 * @throws {Error} if the file could not be loaded
 */
function resultOf(test, { testResults, errors, startedAtMs, endedAtMs }) {
  // jest would report only that the file has no tests.
  if (testResults.length === 0 && errors.length > 0) throw new Error(errors.join('\n\n'));
  const count = (status) => testResults.filter((one) => one.status === status).length;
  const failures = testResults.flatMap(({ ancestorTitles, title, failureMessages }) =>
    failureMessages.map((message) => section([...ancestorTitles, title].join(' › '), message)),
  );
  const fileFailures = errors.map((error) => section('Test suite failed to run', error));
  const failureMessage = [...failures, ...fileFailures].join('\n');
  return {
    ...createEmptyTestResult(),
    testFilePath: test.path,
    testResults,
    numFailingTests: count('failed'),
    numPassingTests: count('passed'),
    numPendingTests: count('pending'),
    numTodoTests: count('todo'),
    perfStats: {
      ...createEmptyTestResult().perfStats,
      start: startedAtMs,
      end: endedAtMs,
      runtime: endedAtMs - startedAtMs,
    },
    ...(failureMessage && { failureMessage }),
    ...(errors.length > 0 && { testExecError: { message: errors.join('\n\n'), stack: '' } }),
  };
}

function section(title, message) {
  return `  ● ${title}\n\n${message.replaceAll(/^(?=.)/gm, '    ')}\n`;
}
