import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '@rms/testkit';
import { openLineStream } from '../src/stdout.ts';

const fixture = fileURLToPath(new URL('fixtures/logging.mjs', import.meta.url));

function start(how: string) {
  const child = spawn(process.execPath, [fixture, how], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  return { child, output: () => out, ended: once(child, 'close'), exited: once(child, 'exit') };
}

describe.each(['gathered', 'at-once'])('Lines on stdout, %s,', (how) => {
  test('all arrive, the last one of a service that ends as well', async () => {
    const { child, output, ended } = start(how);
    await waitUntil(() => output().includes('coarse'), { what: 'the first line' });
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    const lines = output().trimEnd().split('\n');
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ service: 'fixture' });
    expect(lines.slice(-2).map((line) => JSON.parse(line).msg)).toEqual(['last', 'stopped']);
  });

  test('a service whose reader has gone works on, and ends on SIGTERM', async () => {
    const { child, output, exited } = start(how);
    await waitUntil(() => output().includes('coarse'), { what: 'the first line' });
    child.stdout.destroy();
    await once(child.stdout, 'close');
    child.kill('SIGTERM');
    const killed = setTimeout(() => child.kill('SIGKILL'), 20_000);
    expect(await exited).toEqual([0, null]);
    clearTimeout(killed);
  });
});

describe('A stream of lines', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rms-lines-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('writes what has gathered, in its order, when it is told to', () => {
    const file = join(folder, 'log');
    const fd = openSync(file, 'w');
    const stream = openLineStream({ fd, gatherMs: 1e6 });
    for (let n = 0; n < 100; n += 1) stream.write(`${n}\n`);
    expect(readFileSync(file, 'utf8')).toBe('');
    stream.flushSync();
    expect(readFileSync(file, 'utf8')).toBe(Array.from({ length: 100 }, (_, n) => `${n}\n`).join(''));
    closeSync(fd);
  });

  test('a large one writes by itself, and nothing twice', async () => {
    const file = join(folder, 'log');
    const fd = openSync(file, 'w');
    const stream = openLineStream({ fd, gatherMs: 10 });
    const line = `${'x'.repeat(999)}\n`;
    for (let n = 0; n < 5_000; n += 1) stream.write(line);
    await waitUntil(() => readFileSync(file).length >= 5_000_000, { what: 'all lines' });
    expect(readFileSync(file, 'utf8')).toBe(line.repeat(5_000));
    closeSync(fd);
  });

  test('gives up where nothing can be written', () => {
    const fd = openSync(join(folder, 'log'), 'w');
    closeSync(fd);
    const stream = openLineStream({ fd: 999, gatherMs: 0 });
    stream.write('lost\n');
    stream.write('lost\n');
    expect(() => stream.flushSync()).not.toThrow();
  });
});
