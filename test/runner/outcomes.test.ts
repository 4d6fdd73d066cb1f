import { perSuite } from '@rms/testkit';
import { runJest, sectionOf } from './run-jest.ts';

describe('the test runner', () => {
  test.each([
    {
      title: 'passes if every test passes',
      file: `
        test.each([[1, 2], [2, 3]])('%i and one are %i', async (a: number, sum: number) => expect(a + 1).toBe(sum));
        afterAll(() => expect(expect.getState().testPath).toContain('one.test.ts'));`,
      status: 0,
      lines: ['PASS ./one.test.ts', 'Tests:       2 passed, 2 total'],
    },
    {
      title: 'fails a file that cannot be loaded',
      file: `import './missing.ts'; test('is not declared', () => {});`,
      status: 1,
      lines: [/Cannot find module .*missing\.ts/, 'Test Suites: 1 failed, 1 total'],
    },
    {
      title: 'fails a file that does not finish loading',
      file: `test('is not run', () => {}); await new Promise(() => {});`,
      args: ['--testTimeout', '300'],
      status: 1,
      lines: ['The file did not load within 300 ms.'],
    },
    {
      title: 'fails a file without tests',
      file: `export {};`,
      status: 1,
      lines: ['Your test suite must contain at least one test.'],
    },
    {
      title: 'fails a file whose afterAll failed; its tests pass',
      file: `afterAll(() => { throw new Error('not stopped'); }); test('passes', () => {});`,
      status: 1,
      lines: ['Test suite failed to run', 'not stopped', 'Test Suites: 1 failed', 'Tests:       1 passed, 1 total'],
    },
    {
      title: 'fails a file with a rejection that nothing handles',
      file: `test('passes', () => { Promise.reject(new Error('forgotten')); });`,
      status: 1,
      lines: ['Nothing handled Error: forgotten', /one\.test\.ts:1:\d+/, 'Tests:       1 passed, 1 total'],
    },
    {
      title: 'runs only the tests whose title matches -t, and skips the others',
      file: `test('first', () => {}); test('second', () => { throw new Error(); });`,
      args: ['-t', 'first'],
      status: 0,
      lines: ['Tests:       1 skipped, 1 passed, 2 total'],
    },
  ])('$title', async ({ file, args = [], status, lines }) => {
    const result = await runJest({ 'one.test.ts': file }, { args });
    for (const line of lines) expect(result.output).toMatch(line);
    expect(result.status).toBe(status);
  });

  /** Their files run together. */
  const cases = [
    {
      title: 'fails a failed test, with its title, the difference and the position',
      file: `describe('sums', () => { test('are right', () => expect({ a: 1 }).toEqual({ a: 2 })); });`,
      lines: ['● sums › are right', '-   "a": 2,', '+   "a": 1,', /\d\.test\.ts:1:\d+/],
      tests: { passed: 0, failed: 1 },
    },
    {
      title: 'fails each test whose beforeAll failed, and runs none of them',
      file: `
        describe('a server', () => {
          beforeAll(() => { throw new Error('no server'); });
          test('starts', () => console.log('a test ran'));
          test('stops', () => console.log('a test ran'));
        });
        test('something else', () => {});`,
      lines: ['● a server › starts', '● a server › stops', 'no server'],
      absent: 'a test ran',
      tests: { passed: 1, failed: 2 },
    },
    {
      title: 'fails a test that exceeds its timeout, and runs the next one',
      file: `test('hangs', () => new Promise(() => {}), 100); test('is next', () => {});`,
      lines: ['Exceeded timeout of 100 ms for a test'],
      tests: { passed: 1, failed: 1 },
    },
    {
      title: 'fails the tests of a hook that exceeds its timeout',
      file: `beforeEach(() => new Promise(() => {}), 100); test('waits', () => {});`,
      lines: ['Exceeded timeout of 100 ms for a hook'],
      tests: { passed: 0, failed: 1 },
    },
    {
      title: 'passes a file with a rejection that a test handles after Node has reported it',
      file: `
        import { setImmediate as turn } from 'node:timers/promises';
        test('compares something else first', async () => {
          const rejected = Promise.reject(new Error('handled'));
          await turn();
          await turn();
          await expect(rejected).rejects.toThrow('handled');
        });`,
      lines: [],
      tests: { passed: 1, failed: 0 },
    },
    {
      title: 'fails the test during which an exception is thrown outside of it',
      file: `
        import { setTimeout as delay } from 'node:timers/promises';
        test('passes', () => {});
        test('waits', async () => {
          setImmediate(() => { throw new Error('in a callback'); });
          await delay(10);
        });`,
      lines: ['● waits', 'in a callback'],
      tests: { passed: 1, failed: 1 },
    },
    {
      title: 'fails a test with fewer assertions than it declares',
      file: `test('asserts nothing', () => { expect.assertions(1); });`,
      lines: ['expect.assertions(1)'],
      tests: { passed: 0, failed: 1 },
    },
  ];
  const run = perSuite(() => runJest(Object.fromEntries(cases.map(({ file }, i) => [`${i}.test.ts`, file]))));

  test.each(cases.map((one, i) => ({ ...one, i })))('$title', ({ i, lines, tests, absent }) => {
    const section = sectionOf(run.output, `${i}.test.ts`);
    for (const line of lines) expect(section).toMatch(line);
    const states = run.report.files.find(({ name }) => name === `${i}.test.ts`)?.tests.map(({ state }) => state);
    expect(section).toMatch(tests.failed === 0 ? /^PASS / : /^FAIL /);
    expect({
      passed: states?.filter((state) => state === 'passed').length,
      failed: states?.filter((state) => state === 'failed').length,
    }).toEqual(tests);
    expect(run.status).toBe(1);
    if (absent) expect(run.output).not.toContain(absent);
  });
});
