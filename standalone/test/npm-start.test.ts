import { statSync } from 'node:fs';
import { join } from 'node:path';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import { LookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import { createClient, loopbackOnly } from '@rms/rpc';
import { localServices, perSuite, startCommands, waitUntil } from '@rms/testkit';
import { newInstallation, npmStart } from './npm-start.ts';

interface Account {
  readonly csrf_token: string;
  readonly user: { readonly email: string };
  readonly workspaces: readonly { readonly id: string }[];
}

interface Timeline {
  readonly steps: readonly { readonly text: string }[];
}

/** The gRPC status UNAUTHENTICATED. */
const unauthenticated = 16;

describe('npm start', () => {
  let url: string;
  const installation = perSuite(newInstallation);
  const running = perSuite(() => npmStart(installation.env), {
    end({ child, ended }) {
      child.kill('SIGTERM');
      return ended();
    },
  });
  beforeAll(() => {
    url = `http://127.0.0.1:${installation.env.DASHBOARD_PORT}`;
  });

  test('serves the pages of the dashboard, and signs the owner in with the printed login', async () => {
    const { password } = await running.ready();
    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const [, script] = /<script[^>]* src="([^"]+)"/.exec(await page.text()) ?? [];
    expect((await fetch(new URL(script ?? '', url))).status).toBe(200);

    const { account } = await signIn(password);
    expect(account).toMatchObject({ user: { email: 'owner@localhost' } });
    expect((await fetch(`${url}/api/account`)).status).toBe(401);
  });

  test('records every change of a user in the request log', async () => {
    const { send, account } = await signIn((await running.ready()).password);
    const base = `/api/workspaces/${account.workspaces[0]?.id}/live`;
    const changes: [requestId: string, method: string, status: number][] = [];
    const change = async (method: string, path: string, body?: object) => {
      const response = await send(method, `${base}${path}`, body);
      changes.push([response.headers.get('x-request-id') ?? '', method, response.status]);
      return response.status === 204 ? undefined : response.json();
    };
    for (const number of [1, 2, 3]) {
      const created = { name: `Resource ${number}` };
      const { data } = (await change('POST', '/resources', created)) as { data: { id: string } };
      await change('DELETE', `/resources/${data.id}`);
    }
    await change('POST', '/api_keys', { name: 'ci', scope: 'read' });
    await change('DELETE', '/resources/res_missing');
    for (const [requestId, method, status] of changes) {
      const steps = await waitUntil(
        async () => {
          const response = await send('GET', `${base}/requests/${requestId}`);
          if (response.status === 404) return false;
          const { steps } = ((await response.json()) as { data: Timeline }).data;
          return steps.some(({ text }) => text.startsWith('responded')) && steps;
        },
        { what: `${method} ${requestId} in the request log` },
      );
      const texts = steps.map(({ text }) => text);
      expect(texts[0]).toMatch(new RegExp(`^${method} /v1/.* in live by owner@localhost$`));
      expect(texts).toContainEqual(expect.stringMatching(new RegExp(`^responded ${status}\\b`)));
    }
    expect(new Set(changes.map(([, , status]) => status))).toEqual(new Set([201, 204, 404]));
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

  /** Signs in as owner@localhost. */
  async function signIn(password = '') {
    const headers = { 'Content-Type': 'application/json', Origin: url, 'Sec-Fetch-Site': 'same-origin' };
    const body = JSON.stringify({ email: 'owner@localhost', password });
    const signedIn = await fetch(`${url}/api/sign-in`, { method: 'POST', headers, body });
    expect(signedIn.status).toBe(200);
    const Cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const account = (await (await fetch(`${url}/api/account`, { headers: { Cookie } })).json()) as Account;
    const send = (method: string, path: string, sent?: object) =>
      fetch(url + path, {
        method,
        headers: { Cookie, ...(method === 'GET' ? {} : { ...headers, 'X-CSRF-Token': account.csrf_token }) },
        ...(sent ? { body: JSON.stringify(sent) } : {}),
      });
    return { account, send };
  }
});
