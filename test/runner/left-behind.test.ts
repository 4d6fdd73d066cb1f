import { perSuite } from '@rms/testkit';
import { runJest, sectionOf } from './run-jest.ts';

const next = `test('finds nothing of the other file', () => {
  expect([process.env.LEFT, Date.now.name, process.listenerCount('SIGUSR2')]).toEqual([undefined, 'now', 0]);
});`;

describe('a file that leaves something in a shared process fails, and the next file gets a new one', () => {
  const cases = [
    { left: 'an environment variable', code: `process.env.LEFT = '1'`, line: 'environment variable LEFT added' },
    { left: 'a patched Date', code: `Date.now = () => 0`, line: 'Date.now changed' },
    {
      left: 'a patched fetch',
      code: `globalThis.fetch = async () => new Response()`,
      line: 'globalThis.fetch changed',
    },
    {
      left: 'a patched prototype of a module',
      code: `Socket.prototype.connect = () => { throw new Error(); }`,
      line: 'net.Socket.prototype.connect changed',
    },
    { left: 'a new global', code: `globalThis.left = 1`, line: 'globalThis.left: 1, before 0' },
    {
      left: 'a listener',
      code: `process.on('SIGUSR2', () => {})`,
      line: 'listeners of process for SIGUSR2: 1, before 0',
    },
    { left: 'a timer', code: `setInterval(() => {}, 1_000)`, line: 'active resource Timeout: 1, before 0' },
    {
      left: 'an open server',
      code: `await new Promise((listening) => createServer().listen(0, '127.0.0.1', listening))`,
      line: 'active resource TCPServerWrap: 1, before 0',
    },
  ];
  /** Runs the file of each case, and after it `next`. */
  const run = perSuite(() => {
    const files = cases.flatMap(({ code }, i) => [
      [`${i}-1.test.ts`, `import { createServer, Socket } from 'node:net'; test('passes', async () => { ${code}; });`],
      [`${i}-2.test.ts`, next],
    ]);
    return runJest(Object.fromEntries(files));
  });

  test.each(cases.map((one, i) => ({ ...one, i })))('$left', ({ i, line }) => {
    const section = sectionOf(run.output, `${i}-1.test.ts`);
    expect(section).toMatch(/^FAIL /);
    expect(section).toContain(`This file leaves behind:\n    - ${line}\n`);
    expect(run.output).toContain(`PASS ./${i}-2.test.ts`);
    expect(run.output).toContain(`Tests:       ${2 * cases.length} passed, ${2 * cases.length} total`);
    expect(run.status).toBe(1);
  });
});

test('a file may leave what it restores in afterAll, and what closes soon after it', async () => {
  const file = `
    import { createServer } from 'node:net';
    const { now } = Date;
    beforeAll(() => { Date.now = () => 0; process.env.LEFT = '1'; });
    afterAll(() => { Date.now = now; delete process.env.LEFT; });
    test('passes', async () => {
      const server = createServer();
      await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
      setTimeout(() => server.close(), 20);
    });`;
  const { status, output } = await runJest({ '1.test.ts': file, '2.test.ts': next }, { runner: { closingMs: 10_000 } });
  expect(output).toContain('Tests:       2 passed, 2 total');
  expect(status).toBe(0);
});

test('only the error of a failed test is reported, because it may be the reason for what is left', async () => {
  const file = `test('fails', () => { process.env.LEFT = '1'; throw new Error('broken'); });`;
  const { status, output } = await runJest({ '1.test.ts': file, '2.test.ts': next });
  expect(output).toContain('broken');
  expect(output).not.toContain('leaves behind');
  expect(output).toContain('Tests:       1 failed, 1 passed, 2 total');
  expect(status).toBe(1);
});
