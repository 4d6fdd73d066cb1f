/**
 * Reports in one line that a suite cannot run, followed by its numbers. Returns the exit code: with CI=true, a suite
 * that cannot run has failed.
 */
export function cannotRun(suite, reason) {
  const failed = process.env.CI === 'true' ? 1 : 0;
  console.log(`${suite} did not run: ${reason}\n0 passed, ${failed} failed`);
  return failed;
}
