import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDir } from '../src/data-dir.ts';
import { encryptionKeys } from '../src/encryption-key.ts';
import { keepSecret } from '../src/keep-secret.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rms-data-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('The data folder', () => {
  test('is made with the folders above it, held, and let go', () => {
    const path = join(folder, 'a', 'b');
    const dataDir = openDataDir(path);
    expect(dataDir.path).toBe(path);
    expect(() => openDataDir(path)).toThrow(`DATA_DIR ${path} is in use by another npm start (process ${process.pid})`);
    dataDir.release();
    openDataDir(path).release();
  });

  test('is free again when the process that held it was killed', async () => {
    const holder = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const { pid } = holder;
    const first = openDataDir(folder);
    // What the killed one would have left behind.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    first.release();
    writeFileSync(join(folder, 'lock'), `${pid} ${startTime}`);
    expect(() => openDataDir(folder)).toThrow(`process ${pid}`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    openDataDir(folder).release();
  });

  test('is not held by a process that merely has the number of the one that held it', () => {
    writeFileSync(join(folder, 'lock'), `${process.pid} 1`);
    openDataDir(folder).release();
  });

  test('is free when its lock file holds nonsense', () => {
    writeFileSync(join(folder, 'lock'), 'nonsense');
    openDataDir(folder).release();
    expect(existsSync(join(folder, 'lock'))).toBe(false);
  });

  test('tells the rms command where the services are, and nobody else', () => {
    const dataDir = openDataDir(folder);
    const file = join(folder, 'services.json');
    dataDir.writeServices({ auth: '127.0.0.1:1' });
    dataDir.writeServices({ auth: '127.0.0.1:2' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ auth: '127.0.0.1:2' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    dataDir.release();
    expect(existsSync(file)).toBe(false);
  });

  test('that is a file is refused in one line', () => {
    const path = join(folder, 'file');
    writeFileSync(path, '');
    expect(() => openDataDir(path)).toThrow(`DATA_DIR ${path} cannot be used: it is not a folder`);
    expect(() => openDataDir(join(path, 'below'))).toThrow('cannot be used: it is not a folder');
  });

  test('that cannot be made is refused in one line', () => {
    expect(() => openDataDir('/sys/rms')).toThrow(/^DATA_DIR \/sys\/rms cannot be used: [^\n]+$/);
  });
});

describe('A kept secret', () => {
  test('is made once, and only its owner can read it', () => {
    const file = join(folder, 'secret');
    const made = keepSecret(file);
    expect(Buffer.from(made, 'base64url')).toHaveLength(32);
    expect(keepSecret(file)).toBe(made);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(keepSecret(join(folder, 'other'))).not.toBe(made);
  });

  test('that cannot be read is not replaced', () => {
    const file = join(folder, 'secret');
    mkdirSync(file);
    expect(() => keepSecret(file)).toThrow('EISDIR');
  });
});

describe('The encryption key', () => {
  const keysOf = (ENCRYPTION_KEY = '', ENCRYPTION_KEY_PREVIOUS: string[] = []) =>
    encryptionKeys({ ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS }, folder);
  const file = () => join(folder, 'encryption.key');
  const newKey = () => randomBytes(32).toString('base64');

  test('is the one that is set', () => {
    expect(keysOf('given', ['before'])).toEqual({ ENCRYPTION_KEY: 'given', ENCRYPTION_KEY_PREVIOUS: ['before'] });
    expect(existsSync(file())).toBe(false);
  });

  test('is made once beside the data if none is set', () => {
    const { ENCRYPTION_KEY: key, ENCRYPTION_KEY_PREVIOUS: previous } = keysOf();
    expect(Buffer.from(key, 'base64')).toHaveLength(32);
    expect(previous).toEqual([]);
    expect(keysOf().ENCRYPTION_KEY).toBe(key);
  });

  test('that was damaged is named, and stays', () => {
    writeFileSync(file(), 'c2hvcnQ=\n');
    expect(() => keysOf()).toThrow(/encryption\.key does not hold 32 bytes/);
    expect(readFileSync(file(), 'utf8')).toBe('c2hvcnQ=\n');
    rmSync(file());
    writeFileSync(`${file()}.previous`, 'c2hvcnQ=\n');
    expect(() => keysOf()).toThrow(/encryption\.key\.previous does not hold 32 bytes/);
    expect(existsSync(file())).toBe(false);
  });

  test('is replaced by a new one once it is renamed, and still opens what it sealed', () => {
    const old = keysOf().ENCRYPTION_KEY;
    renameSync(file(), `${file()}.previous`);
    const rotated = keysOf('', ['before']);
    expect(rotated.ENCRYPTION_KEY).not.toBe(old);
    expect(rotated.ENCRYPTION_KEY_PREVIOUS).toEqual(['before', old]);
    rmSync(`${file()}.previous`);
    expect(keysOf()).toEqual({ ENCRYPTION_KEY: rotated.ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS: [] });
  });

  test('that is set must not take the place of the one beside the data unless that is named as well', () => {
    const kept = keysOf().ENCRYPTION_KEY;
    const other = newKey();
    expect(() => keysOf(other)).toThrow(
      /^ENCRYPTION_KEY is not the key in .*encryption\.key, which has sealed secrets/,
    );
    expect(() => keysOf(other, [newKey()])).toThrow('ENCRYPTION_KEY is not the key');
    expect(keysOf(kept).ENCRYPTION_KEY).toBe(kept);
    expect(keysOf(kept.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')).ENCRYPTION_KEY_PREVIOUS).toEqual([]);
    expect(keysOf(other, [kept]).ENCRYPTION_KEY_PREVIOUS).toEqual([kept]);
    renameSync(file(), `${file()}.previous`);
    expect(keysOf(other)).toEqual({ ENCRYPTION_KEY: other, ENCRYPTION_KEY_PREVIOUS: [kept] });
    expect(existsSync(file())).toBe(false);
  });
});
