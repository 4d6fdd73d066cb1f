import { hashOfApiKey } from '@rms/base/api-key';
import { newId } from '@rms/base/ids';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { type Receiver, startReceiver } from '@rms/testkit';
import { subscribe } from './subscriber.ts';
import { startServices, type TestServices } from './support.ts';

describe('rms workspaces delete', () => {
  let services: TestServices;
  let receiver: Receiver;
  beforeAll(async () => {
    services = await startServices();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await receiver?.close();
    await services?.stop();
  });

  const remove = (...args: string[]) => services.rms('workspaces', 'delete', ...args);
  const verdictOf = async (key: string) => {
    const requests = [{ keyHash: hashOfApiKey(key), environment: Environment.SANDBOX }];
    return (await services.keys.batchVerifyKeys({ requests })).results[0]?.verdict;
  };
  const createResource = async (workspaceId: string) => {
    const principal = { workspaceId, environment: Environment.SANDBOX, keyId: newId('key') };
    await services.resources.batchCreateResources({
      requests: [{ context: { requestId: newId('req'), principal }, name: 'thing' }],
    });
  };
  /** Creates a workspace with two keys, a member, a resource, and a webhook with two deliveries. */
  const newWorkspace = async () => {
    const { workspaceId: id, deliver } = await subscribe(services, receiver);
    await deliver({ count: 2 });
    const keys = [await services.createKey(id), await services.createKey(id)];
    const email = `${id}@example.com`;
    await services.json('users', 'create', '--email', email, '--role', 'owner', '--workspace', id);
    await createResource(id);
    return { id, email, key: keys[0]?.key ?? '' };
  };
  const contents = '2 keys, 1 member, 1 resource, 1 webhook';

  test('refuses a workspace that is not empty, and says what it contains', async () => {
    const { id, key } = await newWorkspace();
    expect(await remove(id)).toEqual({
      code: 1,
      stdout: '',
      stderr: `rms: The workspace w (${id}) contains ${contents}. Remove them first, or delete everything with --purge.\n`,
    });
    expect(await verdictOf(key)).toBe(KeyVerdict.VALID);
  });

  test('--purge needs a confirmation with the exact name', async () => {
    const { id, key } = await newWorkspace();
    const missing = await remove(id, '--purge');
    expect([missing.code, missing.stdout, missing.stderr]).toEqual([2, '', expect.stringContaining('--confirm NAME')]);
    expect(await remove(id, '--purge', '--confirm', 'W')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'rms: "W" is not the name "w". Nothing was deleted.\n',
    });
    expect(await verdictOf(key)).toBe(KeyVerdict.VALID);
  });

  test('--purge deletes everything; its keys are invalid, its user and its audit log remain', async () => {
    const [deleted, other] = [await newWorkspace(), await newWorkspace()];
    const document = await services.json('workspaces', 'delete', deleted.id, '--purge', '--confirm', 'w');
    expect(document).toEqual({
      id: deleted.id,
      name: 'w',
      rows: expect.objectContaining({
        'auth.keys': 2,
        'resources.resources': 1,
        'webhooks.webhooks': 1,
        'webhooks.delivery_log': 2,
      }),
    });
    expect(await verdictOf(deleted.key)).toBe(KeyVerdict.INVALID);
    expect(await remove(deleted.id)).toMatchObject({
      code: 1,
      stderr: `rms: There is no workspace "${deleted.id}".\n`,
    });
    expect((await services.rms('keys', 'list', '--workspace', deleted.id)).code).toBe(1);
    const { data: users } = await services.json('users', 'list');
    expect(users).toContainEqual(expect.objectContaining({ email: deleted.email, workspaces: [] }));

    for (const args of [
      ['--workspace', deleted.id],
      ['--target', deleted.id],
    ]) {
      const { data: entries } = await services.json('audit', ...args);
      expect(entries[0]).toMatchObject({
        action: 'workspace.deleted',
        actor: expect.stringMatching(/^operator:/),
        target_name: 'w',
        details: { rows: document.rows },
      });
    }
    const { data: ofInstallation } = await services.json('audit', '--installation', '--target', deleted.id);
    expect(ofInstallation).toMatchObject([{ action: 'workspace.deleted', target_name: 'w' }]);
    expect((await services.rms('audit', '--workspace', newId('ws'))).stderr).toMatch(/^rms: There is no workspace/);

    expect(await verdictOf(other.key)).toBe(KeyVerdict.VALID);
    expect((await remove(other.id)).stderr).toContain(contents);
  });

  test('an empty workspace needs no confirmation; its name is enough if no other workspace has it', async () => {
    const id = await services.createWorkspace('empty');
    const second = await services.createWorkspace('twice');
    await services.createWorkspace('twice');
    const ambiguous = await remove('twice');
    expect([ambiguous.code, ambiguous.stderr]).toEqual([
      1,
      expect.stringMatching(/^rms: 2 workspaces have the name "twice"/),
    ]);
    expect(ambiguous.stderr).toContain(second);
    expect((await remove('empty')).stdout).toBe(`Deleted workspace empty (${id}): 0 rows.\n`);
  });

  test('an interrupted deletion is listed, and continues', async () => {
    const { id, key } = await newWorkspace();
    await services.deletion.beginDeletion({ workspaceId: id });
    expect(await verdictOf(key)).toBe(KeyVerdict.INVALID);
    expect((await services.rms('workspaces', 'list')).stdout).toMatch(new RegExp(`${id} +w +being deleted`));
    const refused = await remove(id);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `rms: The workspace w (${id}) contains 1 resource, 1 webhook. Its deletion was interrupted; continue it with --purge.\n`,
    ]);
    expect((await remove(id, '--purge', '--confirm', 'w')).stdout).toMatch(/^Deleted workspace w /);
    expect((await services.rms('workspaces', 'list')).stdout).not.toContain(id);
  });

  test('reports that a service is unreachable, and continues when it is run again', async () => {
    const { id } = await newWorkspace();
    const args = ['workspaces', 'delete', id, '--purge', '--confirm', 'w'];
    const { auth, webhooks, alerts } = services.addresses;
    const addresses = {
      AUTH_ADDRESS: auth,
      WEBHOOKS_ADDRESS: webhooks,
      ALERTS_ADDRESS: alerts,
      RESOURCES_ADDRESS: services.addresses.resources,
    };
    const failed = await services.rmsWith({ ...addresses, ALERTS_ADDRESS: '127.0.0.1:1' }, ...args);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('The deletion has not ended. Run the command again to continue it.');
    const { data } = JSON.parse((await services.rmsWith(addresses, ...args, '--json')).stdout);
    expect(data.rows).toMatchObject({ 'resources.resources': 1, 'webhooks.webhooks': 1, 'auth.keys': 2 });
  });
});
