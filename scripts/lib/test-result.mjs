import { readFileSync } from 'node:fs';
import { remedies } from './test-servers.mjs';

/** How describeWith() of the test kit marks what it skips. */
const needed = / \[needs (.+)\]$/;

/** What jest has written about a run, or undefined if it did not come so far. */
export function readResult(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * The closing lines of a run: the suites that were skipped for want of a server, with what brings it, and last how many
 * tests passed and failed. A file that could not be run at all counts as one failure.
 */
export function summary(result) {
  if (!result) return { lines: ['0 passed, 1 failed'], skipped: 0 };
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, numPendingTests } = result;
  const lines = [];
  const suites = suitesWithoutServer(result);
  if (suites.length > 0) {
    const needs = new Set(suites.flatMap((suite) => suite.match(needed)?.[1].split(', ') ?? []));
    lines.push('Skipped, for want of a server:', ...suites.map((suite) => `  ${suite}`));
    for (const need of needs) lines.push(`For ${need}: ${remedies[need]}.`);
  }
  if (numPendingTests > 0) lines.push(`${numPendingTests} tests were skipped.`);
  lines.push(`${numPassedTests} passed, ${numFailedTests + numRuntimeErrorTestSuites} failed`);
  return { lines, skipped: numPendingTests };
}

/** The suites that describeWith() of the test kit has skipped. */
function suitesWithoutServer({ testResults }) {
  const titles = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'pending')
    .flatMap(({ ancestorTitles }) => ancestorTitles.filter((title) => needed.test(title)));
  return [...new Set(titles)];
}
