import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { root } from './prepare.mjs';
import { remedies } from './test-servers.mjs';

/** Suffix that describeWith() of the test kit adds to the name of a skipped suite. */
const needed = / \[needs (.+)\]$/;

/** Maximum number of lines of a failure's message that the summary repeats. */
const messageLines = 24;

/**
 * Returns the last lines of a run: slowest files, failed tests with the start of their messages, skipped suites with
 * their remedy, processes that were left over, and finally the numbers of passed and failed tests. A file that could
 * not be run counts as one failure. With CI=true, a skipped test fails the run.
 */
export function summary({ result, status, leftovers }) {
  if (!result) return { lines: ['0 passed, 1 failed'], passed: 0, failures: 1, failed: true };
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, numPendingTests, testResults } = result;
  const lines = [];
  if (testResults.length > 10) lines.push(...slowest(testResults));
  lines.push(...failedTests(testResults));
  const suites = suitesWithoutServer(result);
  if (suites.length > 0) {
    const needs = new Set(suites.flatMap((suite) => suite.match(needed)?.[1].split(', ') ?? []));
    lines.push('Skipped, because a server or program is missing:', ...suites.map((suite) => `  ${suite}`));
    for (const need of needs) lines.push(`For ${need}: ${remedies[need]}.`);
  }
  if (numPendingTests > 0) lines.push(`${numPendingTests} tests were skipped.`);
  const skippedInCi = numPendingTests > 0 && process.env.CI === 'true';
  if (skippedInCi) lines.push('Nothing may be skipped with CI=true: this run failed.');
  if (leftovers.length > 0)
    lines.push('Processes that tests left running, now killed:', ...leftovers.map((l) => `  ${l}`));
  const failures = numFailedTests + numRuntimeErrorTestSuites + (leftovers.length > 0 ? 1 : 0);
  lines.push(`${numPassedTests} passed, ${failures} failed`);
  return { lines, passed: numPassedTests, failures, failed: status !== 0 || failures > 0 || skippedInCi };
}

function slowest(testResults) {
  const rows = testResults
    .map(({ name, startTime, endTime }) => ({ name: relative(root, name), seconds: (endTime - startTime) / 1_000 }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, 10);
  return ['Slowest files:', ...rows.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`)];
}

function failedTests(testResults) {
  const indented = (message) =>
    stripVTControlCharacters(message)
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.includes('node_modules'))
      .slice(0, messageLines)
      .map((line) => `    ${line}`);
  return testResults.flatMap(({ name, message, assertionResults }) => {
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    const file = relative(root, name);
    if (failed.length > 0)
      return failed.flatMap(({ fullName, failureMessages }) => [
        `Failed: ${file}: ${fullName}`,
        ...failureMessages.flatMap(indented),
      ]);
    return assertionResults.length === 0 && message ? [`Failed: ${file}`, ...indented(message)] : [];
  });
}

/** Returns the names of the suites that describeWith() of the test kit has skipped. */
function suitesWithoutServer({ testResults }) {
  const titles = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'pending')
    .flatMap(({ ancestorTitles }) => ancestorTitles.filter((title) => needed.test(title)));
  return [...new Set(titles)];
}
