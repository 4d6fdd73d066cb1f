import { runJest } from './run-jest.ts';

/** A file that prints its process and how many files have loaded the module that it shares with others. */
const printing = `
  import { loaded } from './shared.ts';
  test('prints', () => console.log('in process', process.pid, 'of worker', process.env.JEST_WORKER_ID, 'file', loaded.push(1)));`;
const shared = 'export const loaded: number[] = [];';
const printed = (output: string) =>
  [...output.matchAll(/in process (\d+) of worker (\d+) file (\d+)/g)].map(([, pid, worker, file]) => ({
    pid,
    worker,
    file,
  }));

test('files share a process and its modules', async () => {
  const { output } = await runJest({ 'shared.ts': shared, '1.test.ts': printing, '2.test.ts': printing });
  const [first, second, ...others] = printed(output);
  expect([first, second]).toEqual([
    { pid: expect.any(String), worker: '1', file: '1' },
    { pid: first?.pid, worker: '1', file: '2' },
  ]);
  expect(others).toEqual([]);
});

test('an isolated file has its own process, and may leave something in it', async () => {
  const leaving = `${printing}\ntest('leaves a variable', () => { process.env.LEFT = '1'; });`;
  const files = { 'shared.ts': shared, '1.test.ts': printing, '2.test.ts': leaving, '3.test.ts': printing };
  const { status, output } = await runJest(files, { runner: { isolated: ['^2\\.test'] } });
  const found = printed(output);
  // The first file's process runs the third one before it ends.
  expect(found.map(({ file }) => file)).toEqual(['1', '2', '1']);
  expect(new Set(found.map(({ pid }) => pid)).size).toBe(2);
  expect(status).toBe(0);
});

test('a worker that dies fails its file, and the next file gets a new one', async () => {
  const dying = `test('ends the process', () => process.exit(3));`;
  const killed = `test('kills the process', () => { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}); });`;
  const { status, output } = await runJest({
    'shared.ts': shared,
    '1.test.ts': dying,
    '2.test.ts': killed,
    '3.test.ts': printing,
  });
  expect(output).toContain('The worker process ended (exit code 3) while it ran this file.');
  expect(output).toContain('The worker process ended (SIGKILL) while it ran this file.');
  expect(output).toContain('PASS ./3.test.ts');
  expect(output).toContain('Test Suites: 2 failed, 1 passed, 3 total');
  expect(status).toBe(1);
});

test('a setup module is loaded before each of its files, which share no process with others', async () => {
  const { status, output } = await runJest(
    {
      'setup.ts': `console.log('setup for', expect.getState().testPath?.at(-'1.test.ts'.length));`,
      'shared.ts': shared,
      '1.test.ts': printing,
      '2.test.ts': printing,
      '3.test.ts': printing,
    },
    { runner: { setup: [{ files: '^[12]\\.test', module: 'setup.ts' }] } },
  );
  expect([...output.matchAll(/setup for (\d)/g)].map(([, file]) => file)).toEqual(['1', '2']);
  expect(printed(output).map(({ file }) => file)).toEqual(['1', '2', '1']);
  expect(status).toBe(0);
});

test('jest.setTimeout sets the timeout of its file only', async () => {
  const waits = `test('waits', () => new Promise((resolve) => setTimeout(resolve, 200)));`;
  const { output } = await runJest({ '1.test.ts': `jest.setTimeout(50); ${waits}`, '2.test.ts': waits });
  expect(output).toContain('Exceeded timeout of 50 ms for a test');
  expect(output).toContain('Tests:       1 failed, 1 passed, 2 total');
});

test('the report has the files with their tests and errors', async () => {
  const one = `describe('a', () => { test('passes', () => {}); test.skip('is skipped', () => {}); });`;
  const { report } = await runJest({ '1.test.ts': one, '2.test.ts': `throw new Error('not loaded');` });
  expect(report).toEqual({
    files: [
      {
        name: '1.test.ts',
        seconds: expect.any(Number),
        errors: [],
        tests: [
          { titles: ['a', 'passes'], state: 'passed', errors: [] },
          { titles: ['a', 'is skipped'], state: 'skipped', errors: [] },
        ],
      },
      {
        name: '2.test.ts',
        seconds: expect.any(Number),
        errors: [expect.stringContaining('Error: not loaded')],
        tests: [],
      },
    ],
    errors: [],
  });
});
