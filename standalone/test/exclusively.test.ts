import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const module = new URL('../../scripts/lib/exclusively.mjs', import.meta.url).href;

describe('the preparation of a checkout by several processes', () => {
  let folder: string;
  let lock: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rms-exclusively-'));
    lock = join(folder, 'lock');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs a process that prepares the checkout by `work` unless the file "done" exists; `shared` is in its scope. */
  const prepare = (work: string) => {
    const code = `
      import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
      import { exclusively } from '${module}';
      const shared = ${JSON.stringify(join(folder, 'log'))};
      const done = ${JSON.stringify(join(folder, 'done'))};
      exclusively(() => existsSync(done), () => { ${work} }, ${JSON.stringify(lock)});`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    return { child, ended: once(child, 'close').then(() => ({ code: child.exitCode, errors })) };
  };
  const log = () => readFileSync(join(folder, 'log'), 'utf8');

  test('one does it, and the others wait and find it done', async () => {
    const work = `appendFileSync(shared, 'begin '); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      appendFileSync(shared, 'end '); writeFileSync(done, '');`;
    const ends = await Promise.all([1, 2, 3, 4].map(() => prepare(work).ended));
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(log()).toBe('begin end ');
    expect(existsSync(lock)).toBe(false);
  });

  test('work that fails is repeated by the next process', async () => {
    const failing = await prepare(`appendFileSync(shared, 'failed '); throw new Error('no network');`).ended;
    expect([failing.code, failing.errors.includes('no network')]).toEqual([1, true]);
    expect(await prepare(`appendFileSync(shared, 'repeated');`).ended).toEqual({ code: 0, errors: '' });
    expect(log()).toBe('failed repeated');
  });

  test('the lock of a killed process is taken over, by one process', async () => {
    const killed = await prepare(`process.kill(process.pid, 'SIGKILL')`);
    await killed.ended;
    expect(readFileSync(lock, 'utf8')).toBe(`${killed.child.pid}`);
    const work = `appendFileSync(shared, 'work '); writeFileSync(done, '');`;
    await Promise.all([1, 2, 3, 4].map(() => prepare(work).ended));
    expect(log()).toBe('work ');
  });

  test('the process that waits says for which one', async () => {
    writeFileSync(lock, `${process.pid}`);
    const { child, ended } = prepare('');
    await once(child.stderr, 'data');
    rmSync(lock);
    const { code, errors } = await ended;
    expect([code, errors]).toEqual([0, `rms: waiting for process ${process.pid}, which prepares this checkout\n`]);
  });
});
