import { statSync } from 'node:fs';
import { join } from 'node:path';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import { LookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import { createClient, loopbackOnly } from '@rms/rpc';
import { localServices, startCommands } from '@rms/testkit';
import { type Installation, newInstallation, npmStart, type Start } from './npm-start.ts';

/** The gRPC status UNAUTHENTICATED. */
const unauthenticated = 16;

describe('npm start', () => {
  let installation: Installation;
  let running: Start;
  let url: string;
  beforeAll(async () => {
    installation = await newInstallation();
    running = npmStart(installation.env);
    url = `http://127.0.0.1:${installation.env.DASHBOARD_PORT}`;
  });
  afterAll(async () => {
    running?.child.kill('SIGTERM');
    await running?.ended();
    installation?.remove();
  });

  test('serves the pages of the dashboard, and signs the owner in with the printed login', async () => {
    const { password } = await running.ready();
    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const [, script] = /<script[^>]* src="([^"]+)"/.exec(await page.text()) ?? [];
    expect((await fetch(new URL(script ?? '', url))).status).toBe(200);

    const signIn = await fetch(`${url}/api/sign-in`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: url, 'Sec-Fetch-Site': 'same-origin' },
      body: JSON.stringify({ email: 'owner@localhost', password }),
    });
    expect(signIn.status).toBe(200);
    const [cookie = ''] = signIn.headers.getSetCookie();
    const account = await fetch(`${url}/api/account`, { headers: { Cookie: cookie.split(';')[0] ?? '' } });
    expect(await account.json()).toMatchObject({ user: { email: 'owner@localhost' } });
    expect((await fetch(`${url}/api/account`)).status).toBe(401);
  });

  test('serves gRPC only to callers that can read services.json; rms is one', async () => {
    await running.ready();
    const { auth, alerts, webhooks, resources, security } = localServices(installation.dataDir);
    expect(statSync(join(installation.dataDir, 'services.json')).mode & 0o777).toBe(0o600);
    const refused = { cause: { code: unauthenticated } };
    const at = (target: string) => ({ target, timeoutMs: 60_000, security: loopbackOnly });
    const users = createClient(UsersService, at(auth));
    await expect(users.listUsers({ pageSize: 1 })).rejects.toMatchObject(refused);
    const context = { actor: 'operator:alice@laptop' };
    await expect(users.resetUser({ email: 'owner@localhost' }, { context })).rejects.toMatchObject(refused);
    const secrets = createClient(SecretsService, at(alerts));
    await expect(secrets.reencryptSecrets({})).rejects.toMatchObject(refused);
    const lookup = createClient(LookupService, at(webhooks));
    await expect(lookup.findWorkspaces({})).rejects.toMatchObject(refused);
    const deletion = createClient(WorkspaceDeletionService, at(resources));
    await expect(deletion.deleteContents({ workspaceId: 'ws_1' })).rejects.toMatchObject(refused);
    for (const client of [users, secrets, lookup, deletion]) client.close();

    const permitted = createClient(UsersService, { target: auth, timeoutMs: 60_000, security });
    expect((await permitted.listUsers({ pageSize: 1 })).users).toHaveLength(1);
    permitted.close();
    const commands = startCommands();
    const { code, stdout } = await commands.run(['users', 'list'], installation.env);
    await commands.stop();
    expect([code, stdout]).toEqual([0, expect.stringContaining('owner@localhost')]);
  });
});
