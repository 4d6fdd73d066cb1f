// A process of runner.mjs. Runs the test files that it is sent, one after the other, and sends one outcome per file:
// `{testResults, errors, isReusable, startedAtMs, endedAtMs}`. `testResults` are jest's AssertionResults, `errors` are
// texts about the file as a whole.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { jestExpect } from '@jest/expect';
import * as circus from 'jest-circus';
import { leftBehind, processState } from './process-state.mjs';

const { describe, test, it, beforeAll, beforeEach, afterAll, afterEach } = circus;

/** jest-circus reads the timeout that a file has set from this global. */
const fileTimeout = Symbol.for('TEST_TIMEOUT_SYMBOL');

/** Those members of `jest` that work without jest's module loader. */
const jest = {
  setTimeout(timeoutMs) {
    globalThis[fileTimeout] = timeoutMs;
  },
};
Object.assign(globalThis, {
  ...{ describe, test, it, beforeAll, beforeEach, afterAll, afterEach },
  ...{ expect: jestExpect, jest, [fileTimeout]: undefined },
});

circus.addEventHandler((event) => {
  if (event.name === 'test_start') jestExpect.setState({ currentTestName: namesOf(event.test).join(' ') });
  if (event.name !== 'test_done') return;
  // Of expect.assertions() and expect.hasAssertions().
  event.test.errors.push(...jestExpect.extractExpectedAssertionsErrors().map(({ error }) => error));
});

/**
 * Rejections without a handler. A test may handle a rejection later than Node reports it, for example after it has
 * compared something else. A rejection that nothing has handled by the file's end is an error.
 */
const unhandled = new Map();
process.on('unhandledRejection', (reason, promise) => unhandled.set(promise, reason));
process.on('rejectionHandled', (promise) => unhandled.delete(promise));
process.on('uncaughtException', (error) => {
  const { currentlyRunningTest, unhandledErrors } = circus.getState();
  (currentlyRunningTest?.errors ?? unhandledErrors).push(error);
});

// Streams of the process are created when they are first used.
void [process.stdout, process.stderr];
let files = 0;
process.on('message', async (/** @type {any} */ job) => process.send(await run(job)));
process.on('disconnect', () => process.exit());

async function run({ path, setup, closingMs, circus: options }) {
  const startedAtMs = Date.now();
  const { testNamePattern, ...others } = options;
  circus.resetState();
  circus.setState({
    ...circus.getState(),
    ...others,
    testNamePattern: testNamePattern ? new RegExp(testNamePattern, 'i') : null,
  });
  jestExpect.setState({ testPath: path, currentTestName: undefined });
  const before = closingMs === undefined ? undefined : processState();
  const loadError = await load(path, setup, options.testTimeout);
  const { testResults, unhandledErrors } = loadError
    ? { testResults: [], unhandledErrors: [textOf(loadError)] }
    : await circus.run();
  // Node reports rejections after a turn's microtasks.
  await nextTurn();
  const errors = [...unhandledErrors, ...[...unhandled.values()].map((reason) => `Nothing handled ${textOf(reason)}`)];
  unhandled.clear();
  globalThis[fileTimeout] = undefined;
  const isFailed = errors.length > 0 || testResults.some((result) => result.errors.length > 0);
  const left = before ? await leftBehind(before, closingMs) : [];
  // A test that has failed may be the reason, so its error is enough.
  if (left.length > 0 && !isFailed)
    errors.push(`This file leaves behind:\n${left.map((line) => `- ${line}`).join('\n')}`);
  return {
    testResults: testResults.map(assertionResultOf),
    errors,
    isReusable: left.length === 0 && !loadError,
    startedAtMs,
    endedAtMs: Date.now(),
  };
}

/** Imports a test file, which declares its tests. Resolves to the error if that fails. */
async function load(path, setup, timeoutMs) {
  const timeout = Promise.withResolvers();
  const timer = setTimeout(() => timeout.reject(new Error(`The file did not load within ${timeoutMs} ms.`)), timeoutMs);
  try {
    await Promise.race([imported(path, setup), timeout.promise]);
    return undefined;
  } catch (error) {
    return error;
  } finally {
    clearTimeout(timer);
  }
}

async function imported(path, setup) {
  files += 1;
  // Setup modules run before each file; the query makes Node load them again.
  for (const module of setup) await import(`${pathToFileURL(module)}?file=${files}`);
  await import(pathToFileURL(path).href);
}

/** Returns a test's title and the titles of the blocks around it, outermost first. */
function namesOf({ name, parent }) {
  return parent ? [...namesOf(parent), name] : [];
}

/** @param {Record<string, any>} result */
function assertionResultOf({ testPath, status, errors, duration, startedAt, invocations, numPassingAsserts }) {
  const titles = testPath.slice(1);
  const statuses = { skip: 'pending', todo: 'todo', done: errors.length > 0 ? 'failed' : 'passed' };
  return {
    title: titles.at(-1),
    ancestorTitles: titles.slice(0, -1),
    fullName: titles.join(' '),
    status: statuses[status],
    duration,
    startAt: startedAt,
    failureMessages: errors,
    failureDetails: [],
    invocations,
    location: null,
    numPassingAsserts,
  };
}

function textOf(error) {
  return error instanceof Error ? (error.stack ?? String(error)) : `the value ${String(error)}`;
}
