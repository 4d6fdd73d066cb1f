import { stripVTControlCharacters } from 'node:util';
import { remedies } from './test-servers.mjs';

/** Suffix that describeWith() of the test kit adds to a skipped suite's name. */
const needed = / \[needs (.+)\]$/;

/** Maximum number of lines of a failure's message that the summary repeats. */
const messageLines = 24;

/**
 * Returns the last lines of a run: slowest files, failed tests with the start of their messages, skipped suites with
 * their remedy, processes that were left over, and finally the numbers of passed and failed tests. A file that could
 * not be run counts as one failure, and so does a run that fails for another reason. With CI=true, a skipped test fails
 * the run.
 */
export function summary({ result, status, leftovers }) {
  if (!result) return { lines: ['0 passed, 1 failed'], passed: 0, failures: 1, failed: true };
  const tests = result.files.flatMap((file) => file.tests);
  const skipped = tests.filter(({ state }) => state === 'skipped').length;
  const lines = [];
  if (result.files.length > 10) lines.push(...slowest(result.files));
  lines.push(...result.files.flatMap(failuresOf));
  for (const error of result.errors) lines.push('Failed: an error outside of the tests', ...indented(error));
  const suites = suitesWithoutServer(tests);
  if (suites.length > 0) {
    const needs = new Set(suites.flatMap((suite) => suite.match(needed)?.[1].split(', ') ?? []));
    lines.push('Skipped, because a server or program is missing:', ...suites.map((suite) => `  ${suite}`));
    for (const need of needs) lines.push(`For ${need}: ${remedies[need]}.`);
  }
  if (skipped > 0) lines.push(`${skipped} tests were skipped.`);
  const skippedInCi = skipped > 0 && process.env.CI === 'true';
  if (skippedInCi) lines.push('Nothing may be skipped with CI=true: this run failed.');
  if (leftovers.length > 0)
    lines.push('Processes that tests left running, now killed:', ...leftovers.map((l) => `  ${l}`));
  const passed = tests.filter(({ state }) => state === 'passed').length;
  const counted = failedTests(result).length + result.errors.length + (leftovers.length > 0 ? 1 : 0);
  const failures = Math.max(counted, status === 0 ? 0 : 1);
  lines.push(`${passed} passed, ${failures} failed`);
  return { lines, passed, failures, failed: failures > 0 || skippedInCi };
}

/** Returns the names of failed tests, and of the files that failed without a failed test. */
export function failedTests({ files }) {
  return files.flatMap(({ name, errors, tests }) => {
    const failed = tests.filter((test) => test.state === 'failed');
    if (failed.length > 0) return failed.map(({ titles }) => `${name}: ${titles.join(' ')}`);
    return errors.length > 0 ? [name] : [];
  });
}

function slowest(files) {
  const rows = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10);
  return ['Slowest files:', ...rows.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`)];
}

/** Returns a file's failures as lines: its tests, and the errors of its hooks or of the file itself. */
function failuresOf(file) {
  const { name, errors, tests } = file;
  const failed = tests.filter(({ state }) => state === 'failed');
  const lines = failed.flatMap(({ titles, errors: own }) => [
    `Failed: ${name}: ${titles.join(' ')}`,
    ...own.flatMap(indented),
  ]);
  const isFailed = errors.length > 0 || (failed.length === 0 && failedTests({ files: [file] }).length > 0);
  return isFailed ? [...lines, `Failed: ${name}`, ...errors.flatMap(indented)] : lines;
}

function indented(message) {
  return stripVTControlCharacters(message)
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.includes('node_modules'))
    .slice(0, messageLines)
    .map((line) => `    ${line}`);
}

/** Returns the names of suites that describeWith() of the test kit has skipped. */
function suitesWithoutServer(tests) {
  const skipped = tests.filter(({ state }) => state === 'skipped');
  return [...new Set(skipped.flatMap(({ titles }) => titles.filter((title) => needed.test(title))))];
}
