import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from './prepare.mjs';

/**
 * Reporter of vitest that writes the result of a run to the file TEST_REPORT, as JSON:
 * `{files: [{name, seconds, state, errors, tests: [{titles, state, errors}]}], errors}`. `errors` are texts: of a test, of
 * a file and its hooks, and of the run. `state` is passed, failed, skipped, or pending if the worker ended too early.
 */
export default class {
  onTestRunEnd(modules, unhandled) {
    const report = { files: modules.map(fileOf), errors: unhandled.map(textOf) };
    writeFileSync(process.env.TEST_REPORT, JSON.stringify(report));
  }
}

function fileOf(module) {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  const suites = [...module.children.allSuites()];
  return {
    name: relative(root, module.moduleId),
    seconds: (collectDuration + setupDuration + duration) / 1_000,
    state: module.state(),
    errors: [module, ...suites].flatMap((suite) => suite.errors().map(textOf)),
    tests: [...module.children.allTests()].map(testOf),
  };
}

function testOf(test) {
  const { state, errors = [] } = test.result();
  return { titles: titlesOf(test), state: isPrevented(test, state) ? 'failed' : state, errors: errors.map(textOf) };
}

/** Whether a test did not run because a hook of its suites failed. vitest calls such a test skipped. */
function isPrevented(test, state) {
  return (
    state === 'skipped' && test.options.mode !== 'skip' && ancestors(test).some((suite) => suite.errors().length > 0)
  );
}

function titlesOf(test) {
  const suites = ancestors(test).filter(({ type }) => type === 'suite');
  return [test, ...suites].map(({ name }) => name).reverse();
}

function ancestors({ parent }) {
  return parent ? [parent, ...ancestors(parent)] : [];
}

/** Returns message, difference and stack of an error. vitest's own reporter may have named the cause "Caused by: …". */
function textOf({ name, message, stack = '', diff, cause }) {
  const frames = stack.split('\n').filter((line) => line.startsWith('    at '));
  return [
    `${name ?? 'Error'}: ${message}`,
    diff,
    ...frames,
    cause && `Caused by: ${textOf(cause).replace(/^Caused by: /, '')}`,
  ]
    .filter(Boolean)
    .join('\n');
}
