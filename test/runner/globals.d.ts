// The globals of test files (worker.mjs).
import type * as globals from '@jest/globals';

declare global {
  const describe: typeof globals.describe;
  const test: typeof globals.test;
  const it: typeof globals.it;
  const beforeAll: typeof globals.beforeAll;
  const beforeEach: typeof globals.beforeEach;
  const afterAll: typeof globals.afterAll;
  const afterEach: typeof globals.afterEach;
  const expect: typeof globals.expect;
  const jest: Pick<typeof globals.jest, 'setTimeout'>;
}
