import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, programEnv } from '@rms/testkit';
import { openDataDir } from '../src/data-dir.ts';

describe('a refused start', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rms-refused-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs the program of npm start. */
  const start = (env: Readonly<Record<string, string>>, program = 'main.ts') => {
    const main = join(import.meta.dirname, '../src', program);
    const { status, stdout, stderr } = spawnSync(process.execPath, [main], {
      env: programEnv({ DATA_DIR: join(folder, 'data'), ...env }),
      timeout: 60_000,
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };

  test.each([
    [{ PORT: 'x' }, /^rms: PORT: /],
    [{ WEBHOOK_ALLOW_CIDRS: 'moon' }, /^rms: WEBHOOK_ALLOW_CIDRS: /],
    [{ TRACE_URL: 'https://traces.example.com' }, /^rms: TRACE_URL: /],
    [{ REDIS_CLUSTER: 'true' }, /^rms: REDIS_SENTINELS or REDIS_CLUSTER is set, but REDIS_URL is not$/m],
    [
      { ENCRYPTION_KEY: 'abc' },
      /^rms: ENCRYPTION_KEY: must be 32 bytes in base64, and is too short; generate a key with: /,
    ],
  ])('with %j prints one line and leaves no folder', (env, message) => {
    const { status, stdout, stderr } = start(env);
    expect([status, stdout, stderr.trimEnd().split('\n').length]).toEqual([1, '', 1]);
    expect(stderr).toMatch(message);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  test('with a port in use names the setting, also of npm run start:services', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const free = { PORT: `${await freePort()}`, SANDBOX_PORT: `${await freePort()}` };
    const message = `port ${port} is in use; stop the program that listens on it, or choose another port\n`;
    expect(start({ ...free, DASHBOARD_PORT: `${port}` })).toMatchObject({
      status: 1,
      stderr: `rms: DASHBOARD_PORT: ${message}`,
    });
    const stores = {
      DATABASE_URL: 'postgres://127.0.0.1:1/rms',
      REDIS_URL: 'redis://127.0.0.1:1',
      KAFKA_BROKERS: '127.0.0.1:1',
    };
    const services = {
      ...free,
      ...stores,
      DASHBOARD_PORT: `${await freePort()}`,
      WEBHOOKS_ADDRESS: `127.0.0.1:${port}`,
    };
    expect(start(services, 'main-services.ts').stderr).toBe(`rms: WEBHOOKS_ADDRESS: ${message}`);
    other.close();
  });

  test('names the wrong setting also while another start runs, and changes nothing in its folder', () => {
    const path = join(folder, 'data');
    const other = openDataDir(path);
    const files = readdirSync(path);
    expect(start({ WEBHOOK_ALLOW_CIDRS: 'moon' }).stderr).toMatch(/^rms: WEBHOOK_ALLOW_CIDRS: /);
    expect(readdirSync(path)).toEqual(files);
    other.release();
  });

  test('a key that is too short is reported before anything about rotation', () => {
    const dataDir = openDataDir(join(folder, 'data'));
    writeFileSync(join(dataDir.path, 'encryption.key'), `${Buffer.alloc(32, 1).toString('base64')}\n`);
    dataDir.release();
    const { stderr } = start({ ENCRYPTION_KEY: 'abc' });
    expect(stderr).toMatch(/must be 32 bytes/);
    expect(stderr).not.toContain('rotate');
  });

  test('a misspelled setting is warned about', () => {
    const { stderr } = start({ WEBHOOKS_ALLOW_HTTP: 'true', PORT: 'x' });
    expect(stderr.split('\n')[0]).toBe(
      'rms: WEBHOOKS_ALLOW_HTTP is not a setting and has no effect; did you mean WEBHOOK_ALLOW_HTTP?',
    );
  });
});
