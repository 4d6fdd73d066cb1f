import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { createClient, createRpcSecurity } from '@rms/rpc';
import { readSettings } from '@rms/runtime/settings';
import {
  describeWith,
  type Network,
  perSuite,
  startNetwork,
  startReceiver,
  suiteFolder,
  waitUntil,
} from '@rms/testkit';
import { openSettings } from '../api/suites/all.ts';
import { expectStatus } from '../api/support/api-client.ts';
import type { FeedPage, One, Resource } from '../api/support/api-types.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { newAccount } from '../api/support/shape.ts';
import { subscribe } from '../api/support/subscriber.ts';
import { signInAt } from './dashboard/browser.ts';

const silent = { info() {}, warn() {}, error() {} };

describeWith(['redis', 'kafka'], 'Services with mutual TLS', () => {
  let network: Network;
  const emails = suiteFolder('emails');
  afterAll(() => network?.stop());
  const receiver = perSuite(() => startReceiver({ path: '' }));
  beforeAll(async () => {
    const env = { ...openSettings, EMAIL_DIR: emails };
    network = await startNetwork({ env, mutualTls: true, dashboard: true });
  });

  const as = (name: string) => createRpcSecurity(readSettings(network.identity(name)), silent);

  test('serve the API, deliver events and accept the rms command', async () => {
    const account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
    const client = await account.client('live', 'admin');
    const subscriber = await subscribe(client, receiver);
    const created = await client.post<One<Resource>>('/v1/resources', { name: 'Over TLS' });
    const { id } = expectStatus(created, 201).body.data;
    await subscriber.waitForEventsOf(id, 1);
    const { data } = expectStatus(await client.get<FeedPage>('/v1/events'), 200).body;
    const events = data.filter(({ type }) => type.startsWith('resource.'));
    expect(events.map((event) => event.data?.object.id)).toEqual([id]);
  });

  test('reject calls that the gateway may not make, such as creating keys without an API key', async () => {
    const { AUTH_ADDRESS: auth = '', WEBHOOKS_ADDRESS: webhooks = '' } = network.env;
    const gateway = { timeoutMs: 60_000, security: as('gateway') };
    const keys = createClient(KeysService, { target: auth, ...gateway });
    const workspaces = createClient(WorkspacesService, { target: auth, ...gateway });
    const deliveries = createClient(DeliveriesService, { target: webhooks, ...gateway });
    const events = createClient(EventsService, { target: webhooks, ...gateway });
    for (const call of [
      () => keys.createKey({ name: 'mine' }),
      () => keys.listKeys({}),
      () => workspaces.listWorkspaces({}),
      () => deliveries.listDeliveries({ pageSize: 1 }),
      () => deliveries.getReplay({ id: 'rpl_x' }),
      () => events.watchEvents({ workspaceId: 'ws_x' })[Symbol.asyncIterator]().next(),
    ]) {
      await expect(call()).rejects.toMatchObject({
        message: expect.stringMatching(/may not call|only for an API key/),
      });
    }
    const principal = { workspaceId: 'ws_x', environment: Environment.LIVE, keyId: 'key_x', scope: Scope.ADMIN };
    const { workspaceId, environment } = principal;
    const forged = keys.createKey(
      { workspaceId, environment, scope: Scope.READ, name: 'x' },
      { context: { principal } },
    );
    await expect(forged).rejects.toMatchObject({ code: 'not_found' });
    expect((await keys.batchVerifyKeys({})).results).toEqual([]);
    for (const client of [keys, workspaces, deliveries, events]) client.close();
  });

  test('serve the dashboard: actions of a user reach every service, and emails are sent', async () => {
    const email = 'owner@example.com';
    const account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
    const { password } = await account.rms<{ password: string }>(
      'users',
      'create',
      '--email',
      email,
      '--role',
      'owner',
    );
    const { url = '' } = network.dashboard ?? {};
    const owner = await signInAt(url, { email, password });
    const of = `/api/workspaces/${account.workspaceId}/live`;
    const ask = async (method: string, path: string, body?: object) => {
      const { status, text } = await owner.send(method, of + path, body ? { body } : {});
      expect([path, status < 300, text]).toEqual([path, true, expect.any(String)]);
      return JSON.parse(text);
    };
    receiver.respondWith(500);
    const webhook = { url: `${receiver.url}/broken`, events: ['*'] };
    const { id } = (await ask('POST', '/webhooks', webhook)).data;
    await ask('PATCH', `/webhooks/${id}`, { retry_policy: { delays: [0.1, 0.1, 0.1] } });
    await ask('POST', '/invitations', { email: 'guest@example.com', role: 'viewer' });
    const created = { name: 'Clicked' };
    await ask('POST', '/resources', created);
    expectStatus(await (await account.client('live', 'read')).get('/v1/resources'), 200);
    for (const path of ['/api_keys', '/webhooks', '/deliveries', '/resources', '/members', '/invitations', '/limits']) {
      await ask('GET', path);
    }
    for (const path of ['/audit_log', '/alert_rules', '/incidents', '/requests']) await ask('GET', path);
    // The gateway and webhooks report their counts. alerts fetches the owners and the email requests from auth.
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const countOf = async (path: string, name: string) => (await ask('GET', `${path}?from=${from}`)).meta.total[name];
    await waitUntil(
      async () =>
        (await countOf('/metrics/requests', 'count')) > 0 && (await countOf('/metrics/deliveries', 'attempts')) > 0,
      { what: 'the counts' },
    );
    const recipients = () =>
      readdirSync(emails).map((name) => /^To: (.*)$/m.exec(readFileSync(join(emails, name), 'utf8'))?.[1]);
    await waitUntil(() => ['guest@example.com', email].every((to) => recipients().some((one) => one?.trim() === to)), {
      what: 'the emails of the invitation and of the alert',
    });
    const { data } = await ask('GET', '/incidents');
    expect(data).toMatchObject([{ kind: 'delivery_failures_in_a_row', subject: { id } }]);
    expect((await network.rms<{ done: boolean }>('secrets', 'rotate')).done).toBe(true);
  });

  test('reject calls that alerts, auth and the gateway may not make', async () => {
    const { AUTH_ADDRESS: auth = '', WEBHOOKS_ADDRESS: webhooks = '', ALERTS_ADDRESS: alerts = '' } = network.env;
    const alertsItself = { timeoutMs: 60_000, security: as('alerts') };
    const keys = createClient(KeysService, { target: auth, ...alertsItself });
    const signIn = createClient(SignInService, { target: auth, ...alertsItself });
    const hooks = createClient(WebhooksService, { target: webhooks, ...alertsItself });
    const rules = createClient(AlertsService, { target: alerts, timeoutMs: 60_000, security: as('gateway') });
    const usage = createClient(UsageService, { target: alerts, timeoutMs: 60_000, security: as('auth') });
    for (const call of [
      () => keys.createKey({ name: 'mine' }),
      () => keys.revokeKey({ id: 'key_x' }),
      () => signIn.verifyPassword({ email: 'x', password: 'x' }),
      () => hooks.listWebhooks({ pageSize: 1 }),
      () => rules.describeUnsubscribe({ token: 'x' }),
      () => usage.reportUsage({ reporterId: 'x' }),
    ]) {
      await expect(call()).rejects.toMatchObject({ message: expect.stringContaining('may not call') });
    }
    await expect(rules.listRules({ workspaceId: 'ws_x' })).rejects.toMatchObject({
      message: expect.stringContaining('only for an API key'),
    });
    expect((await keys.listKeys({ workspaceId: 'ws_x' })).keys).toEqual([]);
    for (const client of [keys, signIn, hooks, rules, usage]) client.close();
  });

  test('reject calls of the dashboard as an operator, without the user that a call requires, and for several users', async () => {
    const { AUTH_ADDRESS: auth = '', WEBHOOKS_ADDRESS: webhooks = '', RESOURCES_ADDRESS: resources = '' } = network.env;
    const dashboard = { timeoutMs: 60_000, security: as('dashboard') };
    const users = createClient(UsersService, { target: auth, ...dashboard });
    const keys = createClient(KeysService, { target: auth, ...dashboard });
    const secrets = createClient(SecretsService, { target: webhooks, ...dashboard });
    const deliveries = createClient(DeliveriesService, { target: webhooks, ...dashboard });
    const rows = createClient(ResourcesService, { target: resources, ...dashboard });
    const user = { actor: 'user:usr_1' };
    for (const call of [
      () => users.resetUser({ id: 'usr_1' }),
      () => users.createUser({ email: 'x@example.com' }, { context: user }),
      () => secrets.reencryptSecrets({}),
      () => keys.createKey({ workspaceId: 'ws_x', name: 'x' }),
      () => keys.createKey({ workspaceId: 'ws_x', name: 'x' }, { context: { actor: 'operator:x' } }),
      () => users.deleteUser({ id: 'usr_1' }),
      () => deliveries.listDeliveries({ pageSize: 1 }),
      () => rows.batchGetResources({ requests: [{ id: 'res_1' }] }),
      () => rows.batchGetResources({ requests: [{ context: {}, id: 'res_1' }] }, { context: user }),
      () =>
        rows.batchGetResources({ requests: [{ context: { actor: 'user:usr_2' }, id: 'res_1' }] }, { context: user }),
    ]) {
      await expect(call()).rejects.toMatchObject({ message: expect.stringMatching(/may (not )?call/) });
    }
    for (const client of [users, keys, secrets, deliveries, rows]) client.close();
  });

  test('reject a gateway that names an actor', async () => {
    const target = network.env.WEBHOOKS_ADDRESS ?? '';
    const hooks = createClient(WebhooksService, { target, timeoutMs: 60_000, security: as('gateway') });
    await expect(hooks.deleteWebhook({ id: 'whk_x' }, { context: { actor: 'operator:x' } })).rejects.toMatchObject({
      message: expect.stringContaining('only for an API key'),
    });
    hooks.close();
  });

  test('reject callers without a certificate', async () => {
    const keys = createClient(KeysService, { target: network.env.AUTH_ADDRESS ?? '', timeoutMs: 2_000 });
    await expect(keys.listKeys({})).rejects.toMatchObject({ code: 'service_unavailable' });
    keys.close();
  });
});
