import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, preparePostgres, startEmbeddedPostgres } from '@rms/local-postgres';
import { createPool, type Pool, translatePgError } from '@rms/postgres/db';
import { suiteFolder, waitUntil } from '@rms/testkit';

const password = 'a-password';

describe('Embedded PostgreSQL', () => {
  const dataDir = suiteFolder('pg');
  let logged: string[];
  const running: EmbeddedPostgres[] = [];

  const start = async (folder = '') => {
    const note = (_: object, message: string) => void logged.push(message);
    const postgres = await startEmbeddedPostgres({
      dataDir: folderIn(folder),
      password,
      log: { warn: note, error: note },
    });
    running.push(postgres);
    return postgres;
  };
  const folderIn = (name: string) => {
    const folder = join(dataDir, name);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    return folder;
  };
  const withPool = async <T>({ url }: { url: string }, work: (pool: Pool) => Promise<T>): Promise<T> => {
    const pool = createPool({ url, max: 1, applicationName: 'unit', log: { warn() {} } });
    try {
      return await work(pool);
    } finally {
      await pool.end();
    }
  };
  const countNotes = (postgres: { url: string }) =>
    withPool(postgres, async (pool) => Number((await pool.query('select count(*) from note')).rows[0].count));

  // All tests share a data directory, because creating it takes the longest.
  beforeAll(async () => {
    logged = [];
    const postgres = await start();
    await withPool(postgres, (pool) => pool.query('create table note (text text)'));
    await postgres.stop();
  });
  beforeEach(() => {
    logged = [];
  });
  afterEach(async () => {
    for (const postgres of running.splice(0)) await postgres.stop();
  });

  test('keeps its data across a restart', async () => {
    const first = await start();
    await withPool(first, (pool) => pool.query("insert into note values ('kept')"));
    const before = await countNotes(first);
    await first.stop();
    expect(await countNotes(await start())).toBe(before);
    expect(logged).toEqual([]);
  });

  test('writes a log that only its owner can read, and corrects the mode of an existing one', async () => {
    const logFile = join(dataDir, 'postgres.log');
    expect(statSync(logFile).mode & 0o777).toBe(0o600);
    chmodSync(logFile, 0o644);
    await start();
    expect(statSync(logFile).mode & 0o777).toBe(0o600);
  });

  const testAsRoot = process.getuid?.() === 0 ? test : test.skip;
  testAsRoot('lets only the group of its user enter the folder of root', () => {
    const { mode, gid } = statSync(dataDir);
    expect(mode & 0o777).toBe(0o710);
    expect(gid).toBe(statSync(join(dataDir, 'postgres')).gid);
  });

  test.each([
    ['on a Unix socket that only its user can reach', ''],
    ['on loopback only if the path is too long for a socket', 'x'.repeat(100)],
  ])('listens %s, and requires the password', async (_, folder) => {
    const postgres = await start(folder);
    const directory = join(dataDir, folder, 'postgres');
    const { rows } = await withPool(postgres, (pool) =>
      pool.query("select name, setting from pg_settings where name in ('listen_addresses', 'unix_socket_directories')"),
    );
    expect(rows).toEqual([
      { name: 'listen_addresses', setting: folder === '' ? '' : '127.0.0.1' },
      { name: 'unix_socket_directories', setting: folder === '' ? `"${directory}"` : '' },
    ]);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const wrong = { url: postgres.url.replace(password, 'wrong') };
    await expect(withPool(wrong, (pool) => pool.query('select 1'))).rejects.toMatchObject({ code: '28P01' });
  });

  test('its data directory may have a name with separators', async () => {
    const postgres = await start('a, "b" %20c');
    expect(await withPool(postgres, async (pool) => (await pool.query('select 1 as one')).rows)).toEqual([{ one: 1 }]);
  });

  test('a stopped server is service_unavailable', async () => {
    const postgres = await start();
    await postgres.stop();
    const failure = await withPool(postgres, (pool) => pool.query('select 1')).catch((error) => error);
    expect(translatePgError(failure)).toMatchObject({ code: 'service_unavailable' });
  });

  test('restarts at the same address when it dies', async () => {
    const postgres = await start();
    const before = postgres.pid();
    process.kill(before as number, 'SIGKILL');
    await waitUntil(async () => (await countNotes(postgres)) >= 0 && postgres.pid() !== before, {
      what: 'PostgreSQL to be back',
    });
    expect(logged[0]).toBe('the embedded PostgreSQL exited; restarting it');
  });

  test('stops a server that a killed process left running, and keeps its committed data', async () => {
    // Leaves a server without a supervisor, as a killed process does.
    const leftover = await preparePostgres({ dataDir, password });
    const orphan = await leftover.launch();
    await withPool(leftover, (pool) => pool.query("insert into note values ('before the kill')"));
    const before = await countNotes(leftover);
    const ended = once(orphan, 'exit');
    const postgres = await start();
    await ended;
    expect(logged).toEqual(['stopped a PostgreSQL that a killed process had left running']);
    expect(await countNotes(postgres)).toBe(before);
  });

  test('ignores an unrelated process with the process ID of an old PostgreSQL', async () => {
    const bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), `${bystander.pid}\n${dataDir}/postgres\n`);
    await start();
    expect(logged).toEqual([]);
    expect(bystander.exitCode).toBeNull();
    bystander.kill();
  });

  test('can be stopped twice, and leaves no process', async () => {
    const postgres = await start();
    const pid = postgres.pid() as number;
    await Promise.all([postgres.stop(), postgres.stop()]);
    await postgres.stop();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('exits by itself after abandon()', async () => {
    const postgres = await start();
    const pid = postgres.pid() as number;
    postgres.abandon();
    await waitUntil(() => !existsSync(`/proc/${pid}/cmdline`) || readFileSync(`/proc/${pid}/cmdline`).length === 0, {
      what: 'PostgreSQL to end',
    });
  });

  test('rejects data of another major version with a one-line instruction', async () => {
    const other = mkdtempSync(join(tmpdir(), 'rms-pg-old-'));
    mkdirSync(join(other, 'postgres'));
    writeFileSync(join(other, 'postgres', 'PG_VERSION'), '14\n');
    await expect(preparePostgres({ dataDir: other, password })).rejects.toThrow(
      /^\S+ contains data of PostgreSQL 14, but this release includes 18; [^\n]*DATA_DIR[^\n]*$/,
    );
    rmSync(other, { recursive: true });
  });

  test('rejects a folder that is not a data directory instead of overwriting it', async () => {
    const other = mkdtempSync(join(tmpdir(), 'rms-pg-broken-'));
    mkdirSync(join(other, 'postgres'));
    writeFileSync(join(other, 'postgres', 'mine.txt'), 'mine');
    await expect(preparePostgres({ dataDir: other, password })).rejects.toThrow('is not a PostgreSQL data directory');
    expect(readFileSync(join(other, 'postgres', 'mine.txt'), 'utf8')).toBe('mine');
    rmSync(other, { recursive: true });
  });

  test('repeats an interrupted initialization', async () => {
    const other = mkdtempSync(join(tmpdir(), 'rms-pg-half-'));
    mkdirSync(join(other, 'postgres.new', 'base'), { recursive: true });
    const note = () => {};
    const postgres = await startEmbeddedPostgres({ dataDir: other, password, log: { warn: note, error: note } });
    expect(existsSync(join(other, 'postgres.new'))).toBe(false);
    await postgres.stop();
    rmSync(other, { recursive: true });
  });

  test("the start fails on damaged data with PostgreSQL's message in one line", async () => {
    const other = mkdtempSync(join(tmpdir(), 'rms-pg-damaged-'));
    const prepared = await preparePostgres({ dataDir: other, password });
    rmSync(join(other, 'postgres', 'global', 'pg_control'));
    await expect(prepared.launch()).rejects.toThrow(
      /^PostgreSQL failed to start: [^\n]*could not find the database system[^\n]*$/,
    );
    rmSync(other, { recursive: true });
  });
});
