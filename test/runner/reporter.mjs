import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';

/**
 * Reporter of jest that writes a run's result to the file TEST_REPORT, if that is set, as JSON:
 * `{files: [{name, seconds, errors, tests: [{titles, state, errors}]}], errors}`. `errors` are texts: of a test, of
 * a file, and of the run. `state` is passed, failed or skipped.
 */
export default class {
  #rootDir;

  constructor(globalConfig) {
    this.#rootDir = globalConfig.rootDir;
  }

  onRunComplete(_contexts, { testResults, runExecError }) {
    if (!process.env.TEST_REPORT) return;
    const files = testResults.map(({ testFilePath, perfStats, testExecError, testResults: tests }) => ({
      name: relative(this.#rootDir, testFilePath),
      seconds: (perfStats.end - perfStats.start) / 1_000,
      errors: testExecError ? [testExecError.message] : [],
      tests: tests.map(testOf),
    }));
    const errors = runExecError ? [runExecError.stack ?? runExecError.message] : [];
    writeFileSync(process.env.TEST_REPORT, JSON.stringify({ files, errors }));
  }
}

function testOf({ ancestorTitles, title, status, failureMessages }) {
  const state = status === 'passed' || status === 'failed' ? status : 'skipped';
  return { titles: [...ancestorTitles, title], state, errors: failureMessages };
}
