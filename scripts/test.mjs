// npm test [-- PATTERN|PROJECT …] [jest's options]: runs the fast tier, or the chosen test files or projects. The
// last line is "N passed, N failed".
//
// A pattern is part of a test file's path; a project is a fast tier folder without its parents, or a suite
// (test/projects.mjs). -i runs one file after the other, --isolate each file in a separate process, and --shuffle the
// files in a random order, which it prints as a seed; --seed repeats it. PostgreSQL, Redis and Kafka start when
// the first test file requests them; TEST_DATABASE_URL, TEST_REDIS_URL and TEST_KAFKA_BROKERS name existing servers
// instead. Suites with a server that cannot be provided are skipped and named at the end; with CI=true, that is a
// failure.
import { ensureInstalled, ensurePages, fillCompileCache, orExit } from './lib/prepare.mjs';
import { summary } from './lib/test-result.mjs';
import { runTests } from './lib/test-run.mjs';

const run = await orExit(async () => {
  ensureInstalled({ development: true });
  const filled = fillCompileCache();
  ensurePages();
  await filled;
  return runTests(process.argv.slice(2));
});
if (run.interrupted) {
  console.log('\ninterrupted');
  process.exit(130);
}
const { lines, failed } = summary(run);
console.log(`\n${lines.join('\n')}`);
process.exit(failed ? 1 : 0);
