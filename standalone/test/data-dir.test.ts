import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { openDataDir } from '../src/data-dir.ts';
import { encryptionKeys } from '../src/encryption-key.ts';
import { keepSecret } from '../src/keep-secret.ts';

/**
 * Code of a worker that tries to lock every path concurrently with the other workers. Posts the indices of paths
 * that it has locked.
 */
const lockEach = `
  const { parentPort, workerData: { module, paths, arrived, starts } } = require('node:worker_threads');
  import(module).then(({ openDataDir }) => {
    const locked = paths.flatMap((path, i) => {
      if (Atomics.add(arrived, i, 1) === starts - 1) Atomics.notify(arrived, i);
      for (let seen; (seen = Atomics.load(arrived, i)) < starts; ) Atomics.wait(arrived, i, seen);
      try {
        openDataDir(path);
        return [i];
      } catch (error) {
        if (!error.message.includes('is in use')) throw error;
        return [];
      }
    });
    parentPort.postMessage(locked);
  });`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rms-data-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('The data directory', () => {
  test('is created with its parents, locked, and released', () => {
    const path = join(folder, 'a', 'b');
    const dataDir = openDataDir(path);
    expect(dataDir.path).toBe(path);
    expect(() => openDataDir(path)).toThrow(`DATA_DIR ${path} is in use by another npm start (process ${process.pid})`);
    dataDir.release();
    openDataDir(path).release();
  });

  test('and its files are closed to other users, whatever the umask is', () => {
    const umask = process.umask(0);
    try {
      const path = join(folder, 'a', 'b');
      const dataDir = openDataDir(path);
      dataDir.writeServices({});
      const modeOf = (file: string) => statSync(file).mode & 0o777;
      expect(modeOf(path)).toBe(0o700);
      expect(readdirSync(path).map((file) => [file, modeOf(join(path, file))])).toEqual([
        ['lock', 0o600],
        ['services.json', 0o600],
      ]);
      dataDir.release();
    } finally {
      process.umask(umask);
    }
  });

  test.each(['/proc/rms-data', '/proc/rms-data/a/b', '/dev/null/a'])(
    '%s cannot be created: one line, in bounded time',
    (path) => {
      const module = pathToFileURL(join(import.meta.dirname, '../src/data-dir.ts')).href;
      const code = `import(${JSON.stringify(module)}).then(({ openDataDir }) => openDataDir(${JSON.stringify(path)}))`;
      const { signal, stderr } = spawnSync(process.execPath, ['-e', code], { timeout: 60_000, encoding: 'utf8' });
      expect(signal).toBeNull();
      expect(stderr).toContain(`Error: Cannot use DATA_DIR ${path}: `);
    },
  );

  test('is unlocked when the process that locked it was killed', async () => {
    const holder = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const { pid } = holder;
    const first = openDataDir(folder);
    // Lock file that the killed process would have left behind.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    first.release();
    writeFileSync(join(folder, 'lock'), `${pid} ${startTime}`);
    expect(() => openDataDir(folder)).toThrow(`process ${pid}`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    openDataDir(folder).release();
  });

  test('is locked by exactly one of several concurrent starts that find a stale lock', async () => {
    const [starts, rounds] = [3, 100];
    const paths = Array.from({ length: rounds }, (_, i) => join(folder, `${i}`));
    for (const path of paths) {
      mkdirSync(path);
      writeFileSync(join(path, 'lock'), '1 1');
    }
    const arrived = new Int32Array(new SharedArrayBuffer(4 * rounds));
    const module = pathToFileURL(join(import.meta.dirname, '..', 'src', 'data-dir.ts')).href;
    const workerData = { module, paths, arrived, starts };
    const locked = await Promise.all(
      Array.from({ length: starts }, async () => {
        const worker = new Worker(lockEach, { eval: true, workerData });
        const [[indices]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
        return indices as number[];
      }),
    );
    expect(locked.flat().sort((a, b) => a - b)).toEqual(paths.map((_, i) => i));
    for (const path of paths) expect(readdirSync(path)).toEqual(['lock']);
  });

  test('is not locked by another process with the same process ID', () => {
    writeFileSync(join(folder, 'lock'), `${process.pid} 1`);
    openDataDir(folder).release();
  });

  test('is unlocked if its lock file is invalid', () => {
    writeFileSync(join(folder, 'lock'), 'nonsense');
    openDataDir(folder).release();
    expect(existsSync(join(folder, 'lock'))).toBe(false);
  });

  test('contains the service addresses for the rms command, readable only by the owner', () => {
    const dataDir = openDataDir(folder);
    const file = join(folder, 'services.json');
    dataDir.writeServices({ auth: '127.0.0.1:1' });
    dataDir.writeServices({ auth: '127.0.0.1:2' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ auth: '127.0.0.1:2' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    dataDir.release();
    expect(existsSync(file)).toBe(false);
  });

  test('that is a file is rejected in one line', () => {
    const path = join(folder, 'file');
    writeFileSync(path, '');
    expect(() => openDataDir(path)).toThrow(`Cannot use DATA_DIR ${path}: it is not a directory`);
    expect(() => openDataDir(join(path, 'below'))).toThrow('it is not a directory');
  });

  test('that cannot be created is rejected in one line', () => {
    expect(() => openDataDir('/sys/rms')).toThrow(/^Cannot use DATA_DIR \/sys\/rms: [^\n]+$/);
  });
});

describe('A secret in a file', () => {
  test('is created once and readable only by its owner', () => {
    const file = join(folder, 'secret');
    const created = keepSecret(file);
    expect(Buffer.from(created, 'base64url')).toHaveLength(32);
    expect(keepSecret(file)).toBe(created);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(keepSecret(join(folder, 'other'))).not.toBe(created);
  });

  test('is not replaced if it is unreadable', () => {
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

  test('is ENCRYPTION_KEY if it is set', () => {
    expect(keysOf('given', ['before'])).toEqual({ ENCRYPTION_KEY: 'given', ENCRYPTION_KEY_PREVIOUS: ['before'] });
    expect(existsSync(file())).toBe(false);
  });

  test('is created once in the data directory if ENCRYPTION_KEY is unset', () => {
    const { ENCRYPTION_KEY: key, ENCRYPTION_KEY_PREVIOUS: previous } = keysOf();
    expect(Buffer.from(key, 'base64')).toHaveLength(32);
    expect(previous).toEqual([]);
    expect(keysOf().ENCRYPTION_KEY).toBe(key);
  });

  test('is reported and kept if it is damaged', () => {
    writeFileSync(file(), 'c2hvcnQ=\n');
    expect(() => keysOf()).toThrow(/encryption\.key must contain 32 bytes/);
    expect(readFileSync(file(), 'utf8')).toBe('c2hvcnQ=\n');
    rmSync(file());
    writeFileSync(`${file()}.previous`, 'c2hvcnQ=\n');
    expect(() => keysOf()).toThrow(/encryption\.key\.previous must contain 32 bytes/);
    expect(existsSync(file())).toBe(false);
  });

  test('is replaced when its file is renamed, and still decrypts existing secrets', () => {
    const old = keysOf().ENCRYPTION_KEY;
    renameSync(file(), `${file()}.previous`);
    const rotated = keysOf('', ['before']);
    expect(rotated.ENCRYPTION_KEY).not.toBe(old);
    expect(rotated.ENCRYPTION_KEY_PREVIOUS).toEqual(['before', old]);
    rmSync(`${file()}.previous`);
    expect(keysOf()).toEqual({ ENCRYPTION_KEY: rotated.ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS: [] });
  });

  test('must not replace the key in the data directory unless that key is a previous key', () => {
    const kept = keysOf().ENCRYPTION_KEY;
    const other = newKey();
    expect(() => keysOf(other)).toThrow(
      /^ENCRYPTION_KEY is not the key in .*encryption\.key, which encrypts existing secrets/,
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
