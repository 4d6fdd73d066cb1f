import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '@rms/testkit';
import { openLineStream } from '../../src/logging/stdout.ts';

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
  test('all arrive, including the last line of a service that exits', async () => {
    const { child, output, ended } = start(how);
    await waitUntil(() => output().includes('coarse'), { what: 'the first line' });
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    const lines = output().trimEnd().split('\n');
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ service: 'fixture' });
    expect(lines.slice(-2).map((line) => JSON.parse(line).msg)).toEqual(['last', 'stopped']);
  });

  test('a service without a reader continues, and exits on SIGTERM', async () => {
    const { child, output, exited } = start(how);
    await waitUntil(() => output().includes('coarse'), { what: 'the first line' });
    child.stdout.destroy();
    await once(child.stdout, 'close');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});

describe('A stream of lines', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rms-lines-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('flushSync() writes the buffered lines in order', () => {
    const file = join(folder, 'log');
    const fd = openSync(file, 'w');
    const stream = openLineStream({ fd, gatherMs: 1e6 });
    for (let n = 0; n < 100; n += 1) stream.write(`${n}\n`);
    expect(readFileSync(file, 'utf8')).toBe('');
    stream.flushSync();
    expect(readFileSync(file, 'utf8')).toBe(Array.from({ length: 100 }, (_, n) => `${n}\n`).join(''));
    closeSync(fd);
  });

  test('a large buffer is written automatically, without duplicates', async () => {
    const file = join(folder, 'log');
    const fd = openSync(file, 'w');
    const stream = openLineStream({ fd, gatherMs: 10 });
    const line = `${'x'.repeat(999)}\n`;
    for (let n = 0; n < 5_000; n += 1) stream.write(line);
    await waitUntil(() => readFileSync(file).length >= 5_000_000, { what: 'all lines' });
    expect(readFileSync(file, 'utf8')).toBe(line.repeat(5_000));
    closeSync(fd);
  });

  test.each([0, 1e6])('ends although the reader has stopped reading, gathering for %s ms', (gatherMs) => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const fd = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    const stream = openLineStream({ fd, gatherMs });
    stream.write(`${'x'.repeat(1_000_000)}\n`);
    expect(() => stream.flushSync()).not.toThrow();
    closeSync(fd);
    closeSync(reader);
  });

  test('gives up if writing fails', () => {
    const fd = openSync(join(folder, 'log'), 'w');
    closeSync(fd);
    const stream = openLineStream({ fd: 999, gatherMs: 0 });
    stream.write('lost\n');
    stream.write('lost\n');
    expect(() => stream.flushSync()).not.toThrow();
  });
});
