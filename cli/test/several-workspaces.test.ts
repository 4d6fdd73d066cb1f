import { readFileSync } from 'node:fs';
import { newId } from '@rms/base/ids';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, startReceiver, testDatabase } from '@rms/testkit';
import { subscribe } from './subscriber.ts';
import { runRms, startServices, type TestServices } from './support.ts';

const guides = ['operations', 'stores', 'backup']
  .map((name) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8'))
  .join('\n');

/** Commands in code spans of the guides for operators, each once. */
const documented = [...new Set([...guides.matchAll(/`rms ([a-z][^`]*)`/g)].map(([, command = '']) => command))];

describe('rms on an installation with two workspaces', () => {
  let services: TestServices;
  let receiver: Receiver;
  let first: Awaited<ReturnType<typeof subscribe>>;
  let second: Awaited<ReturnType<typeof subscribe>>;
  beforeAll(async () => {
    services = await startServices();
    receiver = await startReceiver();
    first = await subscribe(services, receiver);
    second = await subscribe(services, receiver);
    await first.deliver({ count: 2 });
    await second.deliver({ response: 500 });
    await services.createKey(first.workspaceId);
    await services.createKey(second.workspaceId);
  });
  afterAll(async () => {
    await receiver?.close();
    await services?.stop();
  });

  const deliveryOf = async ({ workspaceId }: typeof first) => {
    const { deliveries } = await services.deliveries.listDeliveries({ workspaceId, pageSize: 1 });
    return deliveries[0]?.id ?? '';
  };

  test('the ID of a webhook, delivery, replay or key determines the workspace', async () => {
    for (const { workspaceId, id } of [first, second]) {
      expect(await services.json('webhooks', 'show', id)).toMatchObject({ id });
      const { data } = await services.json('deliveries', 'list', '--webhook', id);
      expect(data.length).toBeGreaterThan(0);
      expect(await services.json('deliveries', 'show', data[0].id)).toMatchObject({ webhook_id: id });
      const replay = await services.json(
        'deliveries',
        'replay',
        '--webhook',
        id,
        '--since',
        '1h',
        '--status',
        'pending',
      );
      expect(await services.json('deliveries', 'replay-status', replay.id)).toMatchObject({ webhook_id: id });
      const key = await services.createKey(workspaceId);
      expect(await services.json('keys', 'update', key.id, '--name', 'other')).toMatchObject({ name: 'other' });
      expect((await services.json('audit', '--target', key.id)).data[0]).toMatchObject({ target_id: key.id });
    }
  });

  test('a command with several IDs accepts IDs of both workspaces, and reports unknown IDs', async () => {
    const keys = [await services.createKey(first.workspaceId), await services.createKey(second.workspaceId)];
    const ids = keys.map(({ id }) => id);
    const unknown = newId('key');
    const { code, stdout, stderr } = await services.rms(
      'keys',
      'revoke',
      ids[0] ?? '',
      unknown,
      ids[1] ?? '',
      '--json',
    );
    expect([code, stderr]).toEqual([1, `rms: "${unknown}" does not exist in any workspace.\n`]);
    expect(JSON.parse(stdout).data.map(({ id }: { id: string }) => id)).toEqual(ids);
    const deliveries = [await deliveryOf(first), await deliveryOf(second)];
    const { data } = await services.json('deliveries', 'redeliver', ...deliveries);
    expect(data.map(({ id }: { id: string }) => id)).toEqual(deliveries);
  });

  test('a workspace is named by its name or its ID', async () => {
    const { id, name } = await services.json('workspaces', 'create', '--name', 'Only one of this name');
    for (const named of [id, name]) {
      expect((await services.json('webhooks', 'list', '--workspace', named)).data).toEqual([]);
      expect(await services.json('workspaces', 'plan', named, '--plan', 'none')).toMatchObject({ id });
    }
    await services.json('workspaces', 'delete', name);
    expect(await services.rms('keys', 'list', '--workspace', 'No such name')).toMatchObject({
      code: 1,
      stderr: 'rms: There is no workspace "No such name".\n',
    });
  });

  test('an ID that no workspace has is an error that repeats it', async () => {
    const id = newId('wh');
    expect(await services.rms('webhooks', 'disable', id)).toMatchObject({
      code: 1,
      stderr: `rms: "${id}" does not exist in any workspace.\n`,
    });
  });

  test('trace finds the workspace of a request; a request of several workspaces needs --workspace', async () => {
    const { requestId } = await first.deliver();
    const traced = await services.json('trace', requestId);
    // A first success after failures also makes the event webhook.recovered.
    expect(traced.events[0]).toMatchObject({ type: 'resource.created' });
    expect(traced.deliveries).toMatchObject([{ webhook_id: first.id }]);
    const shared = 'chosen-by-the-client-1';
    await first.deliver({ requestId: shared });
    await second.deliver({ requestId: shared });
    const { code, stderr } = await services.rms('trace', shared);
    expect([code, stderr]).toEqual([1, expect.stringContaining('Multiple workspaces have "chosen-by-the-client-1"')]);
    for (const { workspaceId } of [first, second]) expect(stderr).toContain(workspaceId);
    expect((await second.json('trace', shared)).deliveries).toMatchObject([{ webhook_id: second.id }]);
    expect((await services.rms('trace', newId('req'))).stderr).toMatch(/^rms: No record of request/);
  });

  test('trace knows the request IDs that audit and webhooks test show', async () => {
    const { id } = await services.createKey(first.workspaceId);
    const [created] = (await services.json('audit', '--target', id)).data;
    const traced = await services.json('trace', created.request_id);
    expect(traced.audit_entries).toMatchObject([{ action: 'key.created', target_id: id }]);
    const text = `key.created "k" (${id}) by ${created.actor}: name: none → k; scope: none → read`;
    expect(traced.steps).toMatchObject([{ at: created.created_at, text }]);
    receiver.respondWith(200);
    const { request } = await services.json('webhooks', 'test', second.id);
    expect((await services.json('trace', request.headers['x-request-id'])).audit_entries).toMatchObject([
      { action: 'webhook.tested', target_id: second.id },
    ]);
  });

  test('audit filters by actor, time and environment', async () => {
    const { id } = await services.createKey(first.workspaceId);
    const entries = async (...args: string[]) =>
      (await services.json('audit', '--target', id, ...args)).data.map(({ action }: { action: string }) => action);
    const [{ actor }] = (await services.json('audit', '--target', id)).data;
    expect(await entries('--actor', actor, '--environment', 'test', '--since', '1h')).toEqual(['key.created']);
    expect(await entries('--actor', 'user:usr_1')).toEqual([]);
    expect(await entries('--environment', 'live')).toEqual([]);
    expect(await entries('--until', '1h')).toEqual([]);
  });

  test('RMS_WORKSPACE is the default workspace; --workspace and an ID take precedence', async () => {
    const run = async (...args: string[]) => {
      const outcome = await services.rmsWith({ RMS_WORKSPACE: second.workspaceId }, ...args, '--json');
      expect(outcome).toMatchObject({ code: 0, stderr: '' });
      return JSON.parse(outcome.stdout).data;
    };
    expect(await run('webhooks', 'list')).toMatchObject([{ id: second.id }]);
    expect(await run('webhooks', 'list', '--workspace', first.workspaceId)).toMatchObject([{ id: first.id }]);
    expect(await run('webhooks', 'show', first.id)).toMatchObject({ id: first.id });
    const unknown = await services.rmsWith({ RMS_WORKSPACE: 'ws_none' }, 'webhooks', 'list');
    expect(unknown.stderr).toBe('rms: RMS_WORKSPACE: There is no workspace "ws_none".\n');
  });

  test.each([
    ['webhooks', 'list'],
    ['keys', 'list'],
    ['deliveries', 'list'],
    ['alerts', 'list'],
    ['alerts', 'rules'],
    ['audit'],
  ])('%s %s --all-workspaces shows the workspace of each item', async (...command) => {
    const args = command.filter(Boolean);
    const { data } = await services.json(...args, '--all-workspaces');
    const workspaces = new Set(data.map(({ workspace_id }: { workspace_id: string }) => workspace_id));
    if (args.join(' ') !== 'alerts list') expect(workspaces).toEqual(new Set([first.workspaceId, second.workspaceId]));
  });

  test('--all-workspaces adds a column, and conflicts with --workspace', async () => {
    expect((await services.rms('webhooks', 'list', '--all-workspaces')).stdout).toMatch(/^WORKSPACE /);
    const both = ['--all-workspaces', '--workspace', first.workspaceId];
    expect(await services.rms('webhooks', 'list', ...both)).toMatchObject({ code: 2 });
  });

  test('deliveries list --all-workspaces shows the newest of all workspaces, up to --limit', async () => {
    const { code, stdout, stderr } = await services.rms(
      'deliveries',
      'list',
      '--all-workspaces',
      '--limit',
      '3',
      '--json',
    );
    expect(code).toBe(0);
    const times = JSON.parse(stdout).data.map(({ created_at }: { created_at: string }) => created_at);
    expect(times).toEqual([...times].sort().reverse());
    expect(times).toHaveLength(3);
    expect(stderr).toContain('newest 3 deliveries');
  });

  test('deliveries count counts by webhook, status and workspace', async () => {
    const count = (...args: string[]) => services.json('deliveries', 'count', '--by', ...args);
    const third = await subscribe(services, receiver);
    await third.deliver({ count: 3, response: 500 });
    await third.deliver();
    await third.setRetries(1, 3_600_000);
    receiver.respondWith(500);
    await services.publish(third.workspaceId, newId('req'), newId('evt'));
    await third.untilInStatus(DeliveryStatus.RETRYING, 1);
    const own = ['--workspace', third.workspaceId];
    expect(await count('status', ...own)).toEqual({
      data: [
        { count: 3, status: 'failed' },
        { count: 1, status: 'delivered' },
        { count: 1, status: 'retrying' },
      ],
      count: 5,
      count_is_minimum: false,
    });
    expect((await count('webhook', '--status', 'retrying', '--all-workspaces')).data).toEqual([
      { count: 1, workspace_id: third.workspaceId, environment: 'sandbox', webhook_id: third.id },
    ]);
    expect((await count('workspace', '--status', 'failed')).data).toContainEqual({
      count: 3,
      workspace_id: third.workspaceId,
    });
    expect(await count('webhook', '--until', '1h', ...own)).toEqual({ data: [], count: 0, count_is_minimum: false });
    const { stdout } = await services.rms('deliveries', 'count', '--by', 'webhook', '--status', 'retrying', ...own);
    expect(stdout).toMatch(/^COUNT +WEBHOOK +ENVIRONMENT +WORKSPACE\n1 +wh_\w+ +sandbox +ws_\w+\n$/);
  });

  test('the guides for operators contain commands', () => expect(documented.length).toBeGreaterThan(8));

  test.each(documented)('as in the guides: rms %s', async (command) => {
    // The services' database is migrated and in use.
    if (command === 'migrate') {
      const database = await testDatabase([]);
      expect(await runRms(['migrate'], { DATABASE_URL: database.url })).toMatchObject({ code: 0, stderr: '' });
      return database.drop();
    }
    const ids = command.startsWith('keys')
      ? [(await services.createKey(first.workspaceId)).id, (await services.createKey(second.workspaceId)).id]
      : [second.id];
    const args = command.split(' ').flatMap((word) => (/^ID…?$/.test(word) ? ids : word));
    expect(await services.rms(...args)).toMatchObject({ code: 0 });
  });
});
