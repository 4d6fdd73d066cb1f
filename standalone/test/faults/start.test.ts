import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { createClient } from '@rms/rpc';
import { callApi, freePort, localServices, perTest, startPostgres, testDatabase, waitUntil } from '@rms/testkit';
import { newInstallation, npmStart, postgresOf, type Start } from '../npm-start.ts';

describe('npm start', () => {
  const starts: Start[] = [];
  const start = (env: NodeJS.ProcessEnv = {}, options: Parameters<typeof npmStart>[1] = {}) => {
    const started = npmStart({ ...installation.env, ...env }, options);
    starts.push(started);
    return started;
  };
  const call = <T>(path: string, key: string | undefined, body?: object) =>
    callApi<T>(body ? 'POST' : 'GET', installation.liveUrl + path, key, body);
  const totalWith = async (key: string | undefined) => {
    const { status, body } = await call<{ meta: { total: number } }>('/v1/resources', key);
    expect(status).toBe(200);
    return body.meta.total;
  };

  afterEach(async () => {
    for (const one of starts.splice(0)) {
      if (one.child.exitCode === null && one.child.signalCode === null) one.child.kill('SIGTERM');
      await one.ended();
    }
  });
  const installation = perTest(newInstallation);

  test('prints one admin key per environment on the first start only; both keep working', async () => {
    const first = start();
    const { live, sandbox } = await first.ready();
    expect((await call('/v1/resources', live, { name: 'kept' })).status).toBe(201);
    first.child.kill('SIGTERM');
    expect(await first.ended()).toBe(0);
    expect(first.errors()).toBe('');

    const second = start();
    expect(await second.ready()).toEqual({ live: undefined, sandbox: undefined, password: undefined });
    expect(await totalWith(live)).toBe(1);
    expect((await callApi('GET', `${installation.sandboxUrl}/v1/webhooks`, sandbox)).status).toBe(200);
    expect((await call('/v1/resources', sandbox)).status).toBe(401);
  });

  test('prints the login of the first owner on the first start only; it keeps working', async () => {
    const signsIn = async (password: string | undefined) => {
      const { auth: target, security } = localServices(installation.dataDir);
      const signIn = createClient(SignInService, { target, security, timeoutMs: 60_000 });
      const request = { email: 'Ann@example.com', password: password ?? '' };
      const { result } = await signIn.verifyPassword(request).finally(() => signIn.close());
      return result;
    };
    const owner = { user: { email: 'ann@example.com' }, memberships: [{ workspaceName: 'default', role: Role.OWNER }] };
    const first = start({ OWNER_EMAIL: 'ann@example.com' });
    const { password } = await first.ready();
    expect(first.out()).toContain('ann@example.com');
    expect(await signsIn(password)).toMatchObject(owner);
    first.child.kill('SIGTERM');
    expect(await first.ended()).toBe(0);
    const second = start({ OWNER_EMAIL: 'bob@example.com' });
    expect(await second.ready()).toMatchObject({ password: undefined });
    expect(await signsIn(password)).toMatchObject(owner);
  });

  test('stops PostgreSQL and releases the data directory on SIGTERM', async () => {
    const only = start();
    await only.ready();
    expect(postgresOf(installation)).toBeDefined();
    expect(existsSync(join(installation.dataDir, 'services.json'))).toBe(true);
    only.child.kill('SIGINT');
    expect(await only.ended()).toBe(0);
    expect(postgresOf(installation)).toBeUndefined();
    expect(readdirSync(installation.dataDir).sort()).toEqual([
      'encryption.key',
      'postgres',
      'postgres.log',
      'postgres.password',
    ]);
  });

  test('shuts down cleanly on Ctrl-C during the start', async () => {
    const only = start();
    await waitUntil(() => existsSync(join(installation.dataDir, 'postgres.log')), {
      what: 'PostgreSQL to be initialized',
    });
    only.child.kill('SIGINT');
    expect(await only.ended()).toBe(0);
    expect(postgresOf(installation)).toBeUndefined();
    await start().ready();
  });

  test('shuts down cleanly on Ctrl-C in a terminal, which signals both npm and its child', async () => {
    const npm = start({}, { detached: true, command: ['npm', 'start'] });
    const { live } = await npm.ready();
    await call('/v1/resources', live, { name: 'kept' });
    process.kill(-(npm.child.pid as number), 'SIGINT');
    await npm.ended();
    await waitUntil(() => postgresOf(installation) === undefined, { what: 'PostgreSQL to end' });
    expect(readFileSync(join(installation.dataDir, 'postgres.log'), 'utf8').trim()).toMatch(
      /database system is shut down$/,
    );
    await start().ready();
    expect(await totalWith(live)).toBe(1);
  });

  test('after a kill -9 the next start has every acknowledged write', async () => {
    const first = start();
    const { live } = await first.ready();
    for (let i = 0; i < 20; i++) expect((await call('/v1/resources', live, { name: `${i}` })).status).toBe(201);
    first.child.kill('SIGKILL');
    await first.ended();
    const leftover = postgresOf(installation);
    expect(leftover).toBeDefined();

    await start().ready();
    expect(postgresOf(installation)).not.toBe(leftover);
    expect(await totalWith(live)).toBe(20);
  });

  test('exposes the metrics of all services at one address, and changes its log level at runtime', async () => {
    const [metricsPort, levelFile] = [await freePort(), join(dirname(installation.dataDir), 'level')];
    writeFileSync(levelFile, '');
    const only = start({ METRICS_ADDRESS: `127.0.0.1:${metricsPort}`, LOG_LEVEL_FILE: levelFile });
    const { live } = await only.ready();
    const shown = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    for (const service of ['auth', 'gateway', 'resources', 'webhooks']) {
      expect(shown).toMatch(new RegExp(`^rms_ready\\{[^}]*service="${service}"[^}]*\\} 1$`, 'm'));
    }
    expect(shown.match(/^# TYPE rms_ready /gm)).toHaveLength(1);
    await totalWith(live);
    expect(only.errors()).toBe('');
    writeFileSync(levelFile, 'info');
    await waitUntil(() => only.errors().includes('"new_level":"info"'), { what: 'the new level' });
    await totalWith(live);
    await waitUntil(() => only.errors().includes('"msg":"request"'), { what: 'the log line of a request' });
  });

  test('recovers when its PostgreSQL is killed', async () => {
    const only = start();
    const { live } = await only.ready();
    await call('/v1/resources', live, { name: 'kept' });
    process.kill(postgresOf(installation) as number, 'SIGKILL');
    await waitUntil(async () => (await call('/v1/resources', live, { name: 'after' })).status === 201, {
      what: 'writes to succeed again',
    });
    // Other connections must detect the restart themselves.
    await waitUntil(async () => (await call('/v1/resources', live)).status === 200, {
      what: 'reads to succeed again',
    });
    expect(await totalWith(live)).toBe(2);
    expect((await fetch(`${installation.liveUrl}/livez`)).status).toBe(200);
  });

  test('waits for a PostgreSQL without free connections, says so, and becomes ready when there are some', async () => {
    const server = await startPostgres({
      max_connections: '40',
      superuser_reserved_connections: '0',
      max_locks_per_transaction: '128',
    });
    const databases = [await testDatabase([], server.url), await testDatabase([], server.url)] as const;
    const connections = await Promise.all(
      databases.flatMap(({ pool }) => Array.from({ length: 20 }, () => pool.connect())),
    );
    const only = start({ DATABASE_URL: databases[0].url });
    await waitUntil(() => only.errors().includes('PostgreSQL accepts no connection yet'), { what: 'the warning' });
    for (const connection of connections) connection.release(true);
    const { live } = await only.ready();
    expect((await call('/v1/resources', live, { name: 'after' })).status).toBe(201);
    only.child.kill('SIGTERM');
    expect(await only.ended()).toBe(0);
    await Promise.all(databases.map((database) => database.drop()));
    await server.stop();
  });

  test('keeps an invalid record as a dead letter and continues with the next ones', async () => {
    const database = await testDatabase([]);
    const only = start({ DATABASE_URL: database.url });
    const { live } = await only.ready();
    const poison = { partition: 0, value: Buffer.from([0xff, 0]) };
    await database.pool.query(
      `insert into outbox.events (workspace_id, environment, partition, event_id, event_type, record_key, request_id,
                                  traceparent, payload)
       values ('ws_1', 'live', $1, 'evt_1', 'resource.created', 'res_1', 'req_1', '', $2)`,
      [poison.partition, poison.value],
    );
    for (let i = 0; i < 20; i++) expect((await call('/v1/resources', live, { name: `${i}` })).status).toBe(201);
    const waiting = () => database.pool.query('select from outbox.events');
    await waitUntil(async () => (await waiting()).rowCount === 0, { what: 'the outbox to be empty' });
    const letters = await database.pool.query('select key, value, headers, reason, parked from webhooks.dead_letters');
    expect(letters.rows).toEqual([
      {
        ...{ key: Buffer.from('res_1'), value: poison.value, reason: 'unreadable', parked: false },
        headers: expect.objectContaining({ 'event-id': 'evt_1', 'x-request-id': 'req_1' }),
      },
    ]);
    const { rowCount } = await database.pool.query('select from webhooks.events');
    expect(rowCount).toBe(20);
    // Without a consumer, a notice would not be acknowledged.
    await database.pool.query(
      `insert into webhooks.notices (workspace_id, environment, id, type, subject_id, reason)
       values ('ws_1', 'live', 'ntc_1', 'webhook.disabled', 'wh_1', 'gone')`,
    );
    const notices = () => database.pool.query('select from webhooks.notices');
    await waitUntil(async () => (await notices()).rowCount === 0, { what: 'the notice to be consumed' });
    expect(only.errors().trim().split('\n')).toEqual([expect.stringContaining('kept as a dead letter')]);
    only.child.kill('SIGTERM');
    await only.ended();
    await database.drop();
  });

  describe('fails with one line, exit code 1 and no stack trace:', () => {
    const expectRefusal = async (refused: Start, line: RegExp | string) => {
      expect(await refused.ended()).toBe(1);
      expect(refused.out()).toBe('');
      const lines = refused.errors().trimEnd().split('\n');
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(line);
    };

    test('a data directory that another start has locked', async () => {
      const holder = start();
      await holder.ready();
      await expectRefusal(start(), `in use by another npm start (process ${holder.child.pid})`);
    });

    test('a port in use; the next start still prints the keys', async () => {
      const other = createServer().listen(Number(installation.env.SANDBOX_PORT), '127.0.0.1');
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      await expectRefusal(start(), `rms: SANDBOX_PORT: port ${port} is in use`);
      expect(postgresOf(installation)).toBeUndefined();
      other.close();
      const { live } = await start().ready();
      expect(live).toBeDefined();
    });

    test('a retention that does not fit the lock table of PostgreSQL', async () => {
      const database = await testDatabase([]);
      await expectRefusal(
        start({ DATABASE_URL: database.url, LOG_RETENTION_DAYS: '3650' }),
        /^rms: LOG_RETENTION_DAYS: 3650 /,
      );
      await database.drop();
    });

    test('several invalid settings, all named in that line', async () => {
      await expectRefusal(start({ PORT: 'http', LOG_LEVEL: 'loud' }), /^rms: PORT: .*"http".*; LOG_LEVEL: .*"loud"/);
    });

    test('an invalid setting that only one service reads', async () => {
      await expectRefusal(start({ TRUSTED_PROXIES: '0.0.0.0/0' }), /^rms: TRUSTED_PROXIES/);
      await expectRefusal(start({ WEBHOOK_ALLOW_CIDRS: 'nonsense' }), /^rms: WEBHOOK_ALLOW_CIDRS: /);
    });

    test('an ENCRYPTION_KEY of the wrong length', async () => {
      await expectRefusal(start({ ENCRYPTION_KEY: 'c2hvcnQ=' }), /^rms: ENCRYPTION_KEY/);
    });

    test('a DATA_DIR that is a file', async () => {
      const file = `${installation.dataDir}-file`;
      writeFileSync(file, '');
      await expectRefusal(start({ DATA_DIR: file }), `rms: Cannot use DATA_DIR ${file}: it is not a directory`);
    });

    test('data of another PostgreSQL version', async () => {
      const first = start();
      await first.ready();
      first.child.kill('SIGTERM');
      await first.ended();
      writeFileSync(join(installation.dataDir, 'postgres', 'PG_VERSION'), '14\n');
      await expectRefusal(start(), /contains data of PostgreSQL 14, but this release includes \d+/);
    });

    test('an unreachable DATABASE_URL', async () => {
      await expectRefusal(start({ DATABASE_URL: 'postgres://rms:hunter2@127.0.0.1:1/rms' }), /^rms: PostgreSQL: .*:1$/);
    });
  });

  test('uses the PostgreSQL of DATABASE_URL and starts no embedded one', async () => {
    const database = await testDatabase([]);
    const only = start({ DATABASE_URL: database.url });
    const { live } = await only.ready();
    expect((await call('/v1/resources', live, { name: 'outside' })).status).toBe(201);
    expect(existsSync(join(installation.dataDir, 'postgres'))).toBe(false);
    const { rows } = await database.pool.query('select name from resources.resources');
    expect(rows).toEqual([{ name: 'outside' }]);
    only.child.kill('SIGTERM');
    await only.ended();
    await database.drop();
  });
});
