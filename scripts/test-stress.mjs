// npm run test:stress [-- PATTERN|PROJECT …] [--times N] [--load] [jest's options]: repeats the fast tier, or the chosen
// test files, in random order, to find tests that depend on load, order or time. Each run prints the seed of its order
// (--seed). Prints the tests that failed, with how often they failed, and the total as the last line,
// "N passed, N failed".
//
//   --times N   number of runs, default 3
//   --load      two busy loops compete with the tests for the processors
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { orExit, prepare } from './lib/prepare.mjs';
import { failedTests, summary } from './lib/test-result.mjs';
import { runTests } from './lib/test-run.mjs';

const busyLoops = 2;

const { times, load, args } = readArguments();
await orExit(() => prepare({ development: true }));
const loops = load ? Array.from({ length: busyLoops }, () => spawn(process.execPath, ['-e', 'for (;;);'])) : [];
process.on('exit', () => loops.forEach((loop) => void loop.kill('SIGKILL')));
/** Number of failures by test. */
const failures = new Map();
let passed = 0;
let failed = 0;
for (let run = 1; run <= times; run += 1) {
  const startedAtMs = performance.now();
  const done = await runTests([...args, '--shuffle']);
  const result = summary(done);
  passed += result.passed;
  failed += Math.max(result.failures, result.failed ? 1 : 0);
  for (const name of failuresOf(done)) failures.set(name, (failures.get(name) ?? 0) + 1);
  const minutes = ((performance.now() - startedAtMs) / 60_000).toFixed(1);
  console.log(`\n${result.lines.join('\n')}\nrun ${run} of ${times}: ${minutes} min\n`);
  if (done.interrupted) process.exit(130);
}
for (const [name, count] of failures) console.log(`failed in ${count} of ${times} runs: ${name}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

/** Reads the options of this script; all other arguments are for the tests. */
function readArguments() {
  const { values, tokens } = parseArgs({
    options: { times: { type: 'string', default: '3' }, load: { type: 'boolean', default: false } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const times = Number(values.times);
  if (!Number.isInteger(times) || times < 1) {
    console.error(`test:stress: --times must be a whole number of 1 or more, not "${values.times}"`);
    process.exit(1);
  }
  const own = new Set();
  for (const token of tokens) {
    if (token.kind !== 'option' || !['times', 'load'].includes(token.name)) continue;
    own.add(token.index);
    if (token.name === 'times' && !token.inlineValue) own.add(token.index + 1);
  }
  return { times, load: values.load, args: process.argv.slice(2).filter((_, index) => !own.has(index)) };
}

/** Returns a run's failure names. */
function failuresOf({ result, leftovers }) {
  const errors = result?.errors.map((error) => error.split('\n', 1)[0]) ?? [];
  return [
    ...(result ? failedTests(result) : []),
    ...errors.map((error) => `an error outside of the tests: ${error}`),
    ...leftovers.map((line) => `process left running: ${line}`),
  ];
}
