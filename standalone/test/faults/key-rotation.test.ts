import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { callApi, perTest } from '@rms/testkit';
import { newInstallation, npmStart, type Start } from '../npm-start.ts';

const main = fileURLToPath(new URL('../../../cli/src/main.ts', import.meta.url));

describe('npm start with another encryption key', () => {
  let running: Start | undefined;
  afterEach(() => stop());
  const installation = perTest(newInstallation);

  const start = (env: NodeJS.ProcessEnv = {}) => {
    running = npmStart({ ...installation.env, WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ...env });
    return running;
  };
  const stop = async () => {
    running?.child.kill('SIGTERM');
    await running?.ended();
    running = undefined;
  };
  const rms = (...args: string[]) => promisify(execFile)(process.execPath, [main, ...args], { env: installation.env });

  test('renaming the key file creates a new key; after rms secrets rotate the old one can be removed', async () => {
    const file = join(installation.dataDir, 'encryption.key');
    const { live } = await start().ready();
    const hook = { url: 'http://127.0.0.1:65535/', events: ['*'] };
    const create = () =>
      callApi<{ data: { id: string; secret: string } }>('POST', `${installation.liveUrl}/v1/webhooks`, live, hook, {
        'Idempotency-Key': 'one',
      });
    const created = await create();
    expect(created.status).toBe(201);
    const { data } = created.body;
    expect(data.secret).toMatch(/^whsec_/);
    await stop();

    const key = readFileSync(file, 'utf8');
    renameSync(file, `${file}.previous`);
    await start().ready();
    expect(readFileSync(file, 'utf8')).not.toBe(key);
    const { stdout } = await rms('secrets', 'rotate', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      done: true,
      data: [
        { service: 'auth', resealed: 0, unreadable: 0 },
        { service: 'webhooks', resealed: 2, unreadable: 0 },
        { service: 'alerts', resealed: 0, unreadable: 0 },
      ],
    });
    await stop();

    rmSync(`${file}.previous`);
    const last = start();
    await last.ready();
    const replayed = await create();
    expect(replayed.body).toMatchObject({ data: { id: data.id, secret: data.secret } });
    expect(last.errors()).toBe('');
    await stop();

    const refused = start({ ENCRYPTION_KEY: randomBytes(32).toString('base64') });
    expect(await refused.ended()).toBe(1);
    expect(refused.errors()).toMatch(/^rms: ENCRYPTION_KEY is not the key in [^\n]+\n$/);
    running = undefined;
    expect(existsSync(`${file}.previous`)).toBe(false);
  });
});
