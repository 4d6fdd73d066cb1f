import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { createClient } from '@rms/rpc';
import { callApi, describeWith, localServices, perSuite, testDatabase } from '@rms/testkit';
import { newInstallation, npmStart, type Start } from '../npm-start.ts';
import { servicesEnv } from './services-env.ts';

const command = [process.execPath, fileURLToPath(new URL('../../../scripts/start-services.mjs', import.meta.url))];

test('npm run start:services lists missing settings', async () => {
  const installation = await newInstallation();
  const refused = npmStart({ ...installation.env, REDIS_URL: 'redis://127.0.0.1:1' }, { command });
  expect(await refused.ended()).toBe(1);
  expect(refused.errors()).toBe('rms: DATABASE_URL, KAFKA_BROKERS must be set\n');
  installation.remove();
});

describeWith(['redis', 'kafka'], 'npm run start:services', () => {
  const installation = perSuite(newInstallation);
  const database = perSuite(() => testDatabase([]));
  const env = perSuite(() => servicesEnv(installation, database));

  let services: Start | undefined;
  afterEach(async () => {
    services?.child.kill('SIGTERM');
    await services?.ended();
  });

  const listWith = (key: string | undefined) => callApi('GET', `${installation.liveUrl}/v1/resources`, key);

  test('runs each service in its own process and stops them in order', async () => {
    services = npmStart(env, { command });
    const { live } = await services.ready();
    expect((await listWith(live)).status).toBe(200);
    // Levels of pino: 50 is an error.
    expect(
      `${services.out()}${services.errors()}`.split('\n').filter((line) => /"level":[56]0|"stack"/.test(line)),
    ).toEqual([]);
    const file = readFileSync(join(installation.dataDir, 'services.json'), 'utf8');
    const { settings, token, ...addresses } = JSON.parse(file);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(addresses).toEqual({
      auth: env.AUTH_ADDRESS,
      alerts: env.ALERTS_ADDRESS,
      resources: env.RESOURCES_ADDRESS,
      webhooks: env.WEBHOOKS_ADDRESS,
    });
    expect(settings).toContainEqual(expect.objectContaining({ name: 'PORT', value: env.PORT }));
    expect(file).not.toContain(env.DATABASE_URL);
    const { security } = localServices(installation.dataDir);
    const target = { target: env.AUTH_ADDRESS ?? '', timeoutMs: 60_000 };
    const [stranger, owner] = [createClient(UsersService, target), createClient(UsersService, { ...target, security })];
    await expect(stranger.listUsers({ pageSize: 1 })).rejects.toMatchObject({ cause: { code: 16 } });
    expect((await owner.listUsers({ pageSize: 1 })).users).toHaveLength(1);
    for (const client of [stranger, owner]) client.close();
    services.child.kill('SIGTERM');
    expect(await services.ended()).toBe(0);
    const stopped = [...services.out().matchAll(/^(\w+) +\| .*"msg":"stopped"/gm)].map(([, name]) => name);
    expect(stopped).toEqual(['dashboard', 'gateway', 'resources', 'webhooks', 'alerts', 'auth']);
  });

  test('with a key that decrypts no stored secret, exits with the reason', async () => {
    const own = await newInstallation();
    const ownDatabase = await testDatabase([]);
    const given = await servicesEnv(own, ownDatabase);
    services = npmStart(given, { command });
    const { live } = await services.ready();
    const hook = { url: 'https://example.com/', events: ['*'] };
    const created = await callApi('POST', `${own.liveUrl}/v1/webhooks`, live, hook);
    expect(created.status).toBe(201);
    services.child.kill('SIGTERM');
    await services.ended();
    const ENCRYPTION_KEY = randomBytes(32).toString('base64');
    services = npmStart({ ...given, ENCRYPTION_KEY, DATA_DIR: `${own.dataDir}-new` }, { command });
    expect(await services.ended()).toBe(1);
    expect(services.errors()).toMatch(/^rms: no stored webhook secret can be decrypted with ENCRYPTION_KEY [^\n]+\n$/);
    expect(services.out()).toBe('');
    own.remove();
    await ownDatabase.drop();
  });

  test('when one service ends, reports it and stops the others', async () => {
    services = npmStart(env, { command });
    await services.ready();
    const children = readFileSync(`/proc/${services.child.pid}/task/${services.child.pid}/children`, 'utf8');
    const pids = children.trim().split(' ').map(Number);
    expect(pids).toHaveLength(6);
    // In start order, the third process is webhooks.
    process.kill(pids[2] as number, 'SIGKILL');
    expect(await services.ended()).toBe(1);
    expect(services.errors()).toContain('rms: webhooks was terminated by SIGKILL; stopping the others\n');
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
