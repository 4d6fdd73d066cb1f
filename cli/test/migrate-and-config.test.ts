import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeSettings } from '@rms/runtime/settings';
import { testDatabase } from '@rms/testkit';
import { runRms } from './support.ts';

describe('rms migrate', () => {
  test('creates all schemas, and a second run changes nothing', async () => {
    const database = await testDatabase([]);
    const env = { DATABASE_URL: database.url };
    const first = await runRms(['migrate', '--json'], env);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const { data } = JSON.parse(first.stdout) as { data: { schema: string; applied: string[] }[] };
    expect(data.map(({ schema }) => schema)).toEqual(['audit', 'auth', 'outbox', 'resources', 'webhooks', 'alerts']);
    for (const { applied } of data) expect(applied).not.toEqual([]);
    expect((await runRms(['migrate'], env)).stdout).toBe(data.map(({ schema }) => `${schema}: up to date\n`).join(''));
    await database.drop();
  });

  test('without DATABASE_URL, or with an unreachable one, it fails with one line', async () => {
    expect(await runRms(['migrate'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'rms: DATABASE_URL must be set. npm start migrates its embedded database automatically.\n',
    });
    // "localhost" can resolve to two addresses. The AggregateError of both attempts has no message.
    const nowhere = await runRms(['migrate'], { DATABASE_URL: 'postgres://rms:hunter2@localhost:1/rms' });
    expect(nowhere).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^rms: .*ECONNREFUSED.*\n$/) });
    expect(nowhere.stderr).not.toContain('hunter2');
  });
});

describe('rms config', () => {
  test('shows every setting with its source, and no secret', async () => {
    const env = { PORT: '9999', DATABASE_URL: 'postgres://rms:hunter2@127.0.0.1/rms' };
    const { code, stdout } = await runRms(['config', '--json'], env);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).data).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'PORT', value: '9999', source: 'environment' }),
        expect.objectContaining({ name: 'SANDBOX_PORT', value: '8081', source: 'default' }),
        expect.objectContaining({ name: 'DATABASE_URL', value: '[secret]', source: 'environment' }),
      ]),
    );
    const text = (await runRms(['config'], env)).stdout;
    for (const one of [stdout, text]) expect(one).not.toContain('hunter2');
    expect(text).toMatch(/^Settings of this shell\. A service that runs elsewhere has its own settings\.\n/);
  });

  test('warns about a variable whose name is one typing error from a setting', async () => {
    const { code, stderr } = await runRms(['config', '--shell'], { RATE_LIMIT_REQUEST: '5' });
    expect([code, stderr]).toEqual([
      0,
      'rms: RATE_LIMIT_REQUEST is not a setting and has no effect; did you mean RATE_LIMIT_REQUESTS?\n',
    ]);
  });

  test('shows the settings of a running npm start, or with --shell those of the shell', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'rms-config-'));
    const settings = describeSettings({ PORT: '9999' });
    writeFileSync(join(dataDir, 'services.json'), JSON.stringify({ auth: '127.0.0.1:1', settings }));
    const env = { DATA_DIR: dataDir, PORT: '7777' };
    const port = (value: string) => expect.objectContaining({ name: 'PORT', value });
    const running = JSON.parse((await runRms(['config', '--json'], env)).stdout);
    expect(running).toEqual({ data: expect.arrayContaining([port('9999')]), settings_of: 'service' });
    expect((await runRms(['config'], env)).stdout).toMatch(/^Settings of the running service \(npm start\):\n/);
    const shell = JSON.parse((await runRms(['config', '--shell', '--json'], env)).stdout);
    expect(shell).toEqual({ data: expect.arrayContaining([port('7777')]), settings_of: 'shell' });
    rmSync(dataDir, { recursive: true });
  });
});
