import type * as jestGlobals from '@jest/globals';

/** The functions that the test runner provides to test files (test/runner/worker.mjs). */
export type TestGlobals = Pick<
  typeof jestGlobals,
  'describe' | 'test' | 'beforeAll' | 'beforeEach' | 'afterAll' | 'afterEach' | 'expect'
>;

/** Returns the globals of test files. Only a call needs them, because benchmarks load the test kit without them. */
export function testGlobals(): TestGlobals {
  return globalThis as unknown as TestGlobals;
}
