import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { createClient } from '@rms/rpc';
import { startServices, type TestServices } from './support.ts';

describe('rms users', () => {
  let services: TestServices;
  let workspace: string;
  beforeAll(async () => {
    services = await startServices();
    workspace = await services.createWorkspace('first');
  });
  afterAll(() => services?.stop());

  test('create adds an owner and prints the password', async () => {
    const owner = await services.json(
      'users',
      'create',
      '--email',
      'ann@example.com',
      '--name',
      'Ann',
      '--role',
      'owner',
    );
    expect(owner).toEqual({
      id: expect.stringMatching(/^usr_/),
      email: 'ann@example.com',
      name: 'Ann',
      created_at: expect.any(String),
      last_sign_in_at: null,
      second_factor: false,
      disabled_at: null,
      created: true,
      password: expect.stringMatching(/^[a-z2-9-]{23}$/),
      workspace,
      role: 'owner',
    });
    const listed = await services.json('users', 'list');
    const { created, password, workspace: id, role, ...user } = owner;
    expect([created, listed.data]).toEqual([true, [{ ...user, workspaces: [{ id, name: 'first', role }] }]]);
    const again = await services.rms('users', 'create', '--email', 'Ann@Example.com', '--role', 'viewer');
    expect([again.code, again.stdout]).toEqual([1, '']);
    expect(again.stderr).toMatch(/^rms: ann@example\.com is already a member of this workspace/);
  });

  test('create requires a role', async () => {
    const outcome = await services.rms('users', 'create', '--email', 'no-role@example.com');
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--role') });
  });

  test('create adds an existing user to another workspace and keeps the password', async () => {
    const id = await services.createWorkspace('second');
    const args = ['users', 'create', '--email', 'ANN@example.com', '--role', 'viewer', '--workspace', id];
    const added = await services.json(...args);
    expect(added).toMatchObject({ email: 'ann@example.com', created: false, workspace: id, role: 'viewer' });
    expect(added).not.toHaveProperty('password');
    const text = await services.rms('users', 'list');
    expect(text.stdout).toMatch(
      /ann@example\.com +Ann +off +never +active +owner of first \(ws_\w+\), viewer of second \(ws_\w+\)/,
    );
  });

  test('reset sets a new password, by email address, --email or ID', async () => {
    await services.json('users', 'reset', 'ann@EXAMPLE.com');
    const { id, password } = await services.json('users', 'reset', '--email', 'ann@example.com');
    const { code, stdout } = await services.rms('users', 'reset', id, '--second-factor');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[a-z2-9-]{23}\n$/);
    expect(stdout.trim()).not.toBe(password);
    const noUser = await services.rms('users', 'reset', 'nobody@example.com');
    expect([noUser.code, noUser.stdout, noUser.stderr]).toEqual([
      1,
      '',
      'rms: There is no user "nobody@example.com".\n',
    ]);
  });

  test('show lists linked identities, and unlink removes one', async () => {
    const [email, third] = ['linked@example.com', await services.createWorkspace('third')];
    const { id } = await services.json('users', 'create', '--email', email, '--role', 'viewer', '--workspace', third);
    const identity = { issuer: 'https://id.example.com', subject: 'subject-1' };
    const { issuer } = identity;
    const signIn = createClient(SignInService, { target: services.addresses.auth, timeoutMs: 60_000 });
    const context = { clientAddress: '192.0.2.7' };
    await signIn.verifyIdentity({ ...identity, email, emailVerified: true }, { context });
    signIn.close();
    expect(await services.json('users', 'show', email)).toMatchObject({
      id,
      workspaces: [{ name: 'third' }],
      identities: [{ ...identity, linked_at: expect.any(String), email, address: '192.0.2.7' }],
    });
    const { stdout } = await services.rms('users', 'show', id);
    expect(stdout).toMatch(/^https:\/\/id\.example\.com +subject-1 +\S+Z +linked@example\.com +192\.0\.2\.7$/m);
    await services.json('users', 'unlink', email, '--issuer', issuer);
    expect((await services.json('users', 'show', id)).identities).toEqual([]);
    const again = await services.rms('users', 'unlink', id, '--issuer', issuer);
    expect([again.code, again.stderr]).toEqual([1, `rms: There is no linked identity "${issuer}".\n`]);
  });

  test('remove ends a membership, shows the keys that the user created, and revokes them with --revoke-keys', async () => {
    const email = 'builder@example.com';
    const create = () =>
      services.json('users', 'create', '--email', email, '--role', 'developer', '--workspace', fourth);
    const fourth = await services.createWorkspace('fourth');
    const { id } = await create();
    const request = { workspaceId: fourth, environment: Environment.LIVE, scope: Scope.READ, name: 'ci' };
    const { key } = await services.keys.createKey(request, { context: { actor: `user:${id}`, actorName: email } });
    const listed = await services.json('keys', 'list', '--workspace', fourth);
    expect(listed.data).toMatchObject([{ created_by: `user:${id}`, created_by_name: email }]);
    const kept = await services.rms('users', 'remove', email, '--workspace', fourth);
    expect(kept.stdout).toBe(
      `Removed ${email} from ${fourth}.\nKey ${key?.id} (ci) is still valid.\n` +
        `Revoke keys that nobody needs: rms keys revoke ${key?.id}\n`,
    );
    await create();
    const removed = await services.json('users', 'remove', id, '--workspace', fourth, '--revoke-keys');
    expect(removed).toMatchObject({ id, workspace: fourth, valid_keys: [], revoked_keys: [{ id: key?.id }] });
    expect((await services.rms('keys', 'show', key?.id ?? '', '--workspace', fourth)).stdout).toMatch(
      /created by +builder@example\.com\n/,
    );
    const deleted = await services.json('users', 'delete', id);
    expect(deleted).toMatchObject({ id, valid_keys: [], revoked_keys: [] });
  });

  test('disable blocks sign-in and enable allows it again; delete removes the user; a workspace keeps an owner', async () => {
    const only = await services.rms('users', 'disable', 'ann@example.com');
    expect([only.code, only.stderr]).toEqual([
      1,
      'rms: A workspace needs an owner. Make another member an owner first.\n',
    ]);
    await services.json('users', 'create', '--email', 'ben@example.com', '--role', 'owner', '--workspace', workspace);
    const disabled = await services.json('users', 'disable', 'BEN@example.com');
    expect(disabled).toMatchObject({ email: 'ben@example.com', disabled_at: expect.any(String) });
    expect((await services.rms('users', 'list')).stdout).toMatch(/ben@example\.com .* disabled +owner of first/);
    // A disabled owner does not count as an owner.
    expect((await services.rms('users', 'delete', 'ann@example.com')).code).toBe(1);
    expect((await services.rms('users', 'enable', disabled.id)).stdout).toBe('Enabled ben@example.com.\n');
    expect((await services.rms('users', 'delete', disabled.id)).stdout).toBe('Deleted ben@example.com.\n');
    expect((await services.rms('users', 'list')).stdout).not.toContain('ben@example.com');
    const again = await services.rms('users', 'delete', disabled.id);
    expect([again.code, again.stderr]).toEqual([1, `rms: There is no user "${disabled.id}".\n`]);
  });

  test.each([
    [['create'], 2, /--email/],
    [['create', '--email', 'x@example.com', '--role', 'king'], 2, /viewer, developer, admin, owner/],
    [['create', '--email', 'x', '--role', 'viewer', '--workspace', 'No such name'], 1, /no workspace "No such name"/],
    [['reset'], 2, /give the user once/],
    [['disable', 'usr_1', '--email', 'ann@example.com'], 2, /give the user once/],
    [['list', '--limit', '0'], 2, /whole number greater than 0/],
  ])('%j fails', async (args, code, message) => {
    const outcome = await services.rms('users', ...args);
    expect([outcome.code, outcome.stdout]).toEqual([code, '']);
    expect(outcome.stderr).toMatch(message);
  });

  test('an invalid email address is reported', async () => {
    const { code, stderr } = await services.rms(
      'users',
      'create',
      '--email',
      'x',
      '--role',
      'viewer',
      '--workspace',
      workspace,
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining('email is not an email address')]);
  });

  test('the audit log names the operator', async () => {
    const { data } = await services.json('audit', '--action', 'user.', '--workspace', workspace);
    const actions = data.map(({ action }: { action: string }) => action.replace('user.', ''));
    expect(actions).toEqual(['deleted', 'enabled', 'disabled', 'created', 'reset', 'reset', 'reset', 'created']);
    for (const { actor } of data) expect(actor).toMatch(/^operator:/);
  });
});
