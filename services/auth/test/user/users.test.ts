import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { disposable, perSuite } from '@rms/testkit';
import { phcPrefix } from '../../src/password/argon2id.ts';
import { cheapCost } from '../support.ts';
import { as, newEmail, startAccounts } from '../user-support.ts';

describe('Users', () => {
  const accounts = perSuite(startAccounts);

  test('a new user has the given properties, a working password and a membership', async () => {
    const workspaceId = await accounts.newWorkspace();
    const email = `Ann.Lee+rms@${newEmail().split('@')[1]}`;
    const created = await accounts.users.createUser({
      email: ` ${email} `,
      name: 'Ann 李',
      workspaceId,
      role: Role.ADMIN,
    });
    expect(created).toMatchObject({
      created: true,
      password: expect.stringMatching(/^([a-z2-9]{5}-){3}[a-z2-9]{5}$/),
      user: {
        id: expect.stringMatching(/^usr_/),
        email,
        name: 'Ann 李',
        hasPassword: true,
        hasSecondFactor: false,
        sessionGeneration: 1n,
      },
    });
    expect(created.user?.lastSignInTime).toBeUndefined();
    const id = created.user?.id ?? '';
    const { user, memberships, identities } = await accounts.users.getUser({ id });
    expect(user).toEqual(created.user);
    expect(identities).toEqual([]);
    expect(memberships).toMatchObject([{ workspaceId, workspaceName: 'Test', role: Role.ADMIN }]);
    expect(await accounts.audited(workspaceId, 'user.')).toMatchObject([
      { action: 'user.created', targetId: id, email },
    ]);
    expect(await accounts.audited(workspaceId, 'member.')).toMatchObject([{ action: 'member.added', role: 'admin' }]);
  });

  test('the password is stored only as Argon2id, and is in no log or audit entry', async () => {
    const { id, password } = await accounts.newUser();
    const { rows } = await accounts.db.query('select * from auth.users where id = $1', [id]);
    expect(rows[0].password_hash).toContain(phcPrefix(cheapCost));
    const everything = JSON.stringify([
      rows,
      (await accounts.db.query('select * from audit.entries')).rows,
      accounts.logged,
    ]);
    expect(everything).not.toContain(password);
    expect(everything).not.toContain(password.replaceAll('-', ''));
  });

  test('addresses are case-insensitive: an existing user gets another membership and keeps name and password', async () => {
    const first = await accounts.newUser({ email: `Case-${newEmail()}` });
    const workspaceId = await accounts.newWorkspace();
    const again = { email: first.email.toUpperCase(), name: 'Other', workspaceId, role: Role.VIEWER };
    const second = await accounts.users.createUser(again);
    expect(second).toMatchObject({
      created: false,
      password: '',
      user: { id: first.id, email: first.email, name: '' },
    });
    const { memberships } = await accounts.users.getUser({ id: first.id });
    expect(memberships.map(({ role }) => role).sort()).toEqual([Role.VIEWER, Role.OWNER]);
    await expect(accounts.users.createUser(again)).rejects.toMatchObject({ code: 'conflict' });
  });

  test.each([
    ...['', 'nobody', 'a@', '@example.com', 'a@b@example.com', 'a b@example.com', 'a@exa mple.com', 'a@-example.com'],
    ...[
      'a@example.com\r\nBcc: b@example.com',
      'a@example.com,b@example.com',
      'Ann <a@example.com>',
      'a\u0000@example.com',
    ],
    ...[
      `${'a'.repeat(65)}@example.com`,
      `a@${'b'.repeat(250)}.com`,
      'ä@example.com',
      'a@münchen.example',
      'a@example..com',
    ],
  ])('%j is not an email address', async (email) => {
    const workspaceId = await accounts.newWorkspace();
    await expect(accounts.users.createUser({ email, workspaceId, role: Role.VIEWER })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'email' }],
    });
  });

  test.each([
    [{ role: Role.UNSPECIFIED }, 'invalid_request'],
    [{ role: 99 as Role }, 'invalid_request'],
    [{ name: 'x'.repeat(101) }, 'invalid_request'],
    [{ name: 'a\nb' }, 'invalid_request'],
    [{ workspaceId: 'ws_none' }, 'not_found'],
  ])('%o is rejected with %s, and nothing is created', async (wrong, code) => {
    const email = newEmail();
    const request = { email, workspaceId: await accounts.newWorkspace(), role: Role.VIEWER, ...wrong };
    await expect(accounts.users.createUser(request)).rejects.toMatchObject({ code });
    const { rowCount } = await accounts.db.query('select from auth.users where email = $1', [email]);
    expect(rowCount).toBe(0);
  });

  test('all users are listed with their workspaces, page by page', async () => {
    const ownUsers = [await accounts.newUser(), await accounts.newUser(), await accounts.newUser()];
    const listed = [];
    for (let pageToken = ''; ; ) {
      const page = await accounts.users.listUsers({ pageSize: 2, pageToken });
      expect(page.users.length).toBeLessThanOrEqual(2);
      listed.push(...page.users);
      pageToken = page.nextPageToken;
      if (pageToken === '') break;
    }
    const ids = listed.map(({ user }) => user?.id ?? '');
    expect(ids).toEqual([...new Set(ids)].sort());
    for (const { id, workspaceId } of ownUsers) {
      expect(listed.find(({ user }) => user?.id === id)?.memberships).toMatchObject([{ workspaceId }]);
    }
    for (const wrong of [{ pageSize: 0 }, { pageSize: 1_001 }, { pageSize: 1, pageToken: 'key_1' }]) {
      await expect(accounts.users.listUsers(wrong)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  test('users can change their own names', async () => {
    const ann = await accounts.newUser();
    const { user } = await accounts.users.updateUser({ id: ann.id, name: 'Ann' }, as(ann));
    expect(user?.name).toBe('Ann');
    expect((await accounts.audited(ann.workspaceId)).at(-1)).toMatchObject({ action: 'user.updated', name: 'Ann' });
    const entries = await accounts.audited(ann.workspaceId);
    await accounts.users.updateUser({ id: ann.id, name: 'Ann' }, as(ann));
    await accounts.users.updateUser({ id: ann.id }, as(ann));
    expect(await accounts.audited(ann.workspaceId)).toEqual(entries);
    await expect(accounts.users.updateUser({ id: ann.id, name: 'a\u0000' }, as(ann))).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test('a reset sets a new password and ends all sessions', async () => {
    const ann = await accounts.newUser();
    const reset = await accounts.users.resetUser({ email: ann.email.toUpperCase() });
    expect(reset.password).not.toBe(ann.password);
    expect(reset.user).toMatchObject({ id: ann.id, sessionGeneration: 2n });
    expect(await accounts.tryPassword(ann.email, ann.password)).not.toHaveProperty('user.id');
    expect(await accounts.tryPassword(ann.email, reset.password)).toMatchObject({ user: { id: ann.id } });
    expect(await accounts.signIn.checkSession({ userId: ann.id, sessionGeneration: 1n })).toMatchObject({
      valid: false,
    });
    expect(await accounts.users.resetUser({ id: ann.id })).toMatchObject({ user: { sessionGeneration: 3n } });
    for (const noUser of [{ id: 'usr_none' }, { email: 'nobody@example.com' }, {}]) {
      await expect(accounts.users.resetUser(noUser)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test('users cannot call operator methods or act on other users', async () => {
    const [ann, bob] = [await accounts.newUser(), await accounts.newUser()];
    const { workspaceId } = ann;
    const refused = { code: 'insufficient_role' };
    const asAnn = as(ann);
    const { users } = accounts;
    await expect(users.createUser({ email: newEmail(), workspaceId, role: 1 }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.bootstrapUser({ email: newEmail() }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.resetUser({ id: ann.id }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.listUsers({ pageSize: 1 }, asAnn)).rejects.toMatchObject(refused);
    await expect(accounts.secrets.reencryptSecrets({}, asAnn)).rejects.toMatchObject(refused);
    await expect(users.getUser({ id: bob.id }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.updateUser({ id: bob.id, name: 'x' }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.endSessions({ id: bob.id }, asAnn)).rejects.toMatchObject(refused);
  });
});

describe('BootstrapUser', () => {
  test('creates the owner of the first workspace once, also with concurrent calls', async () => {
    await using accounts = disposable(await startAccounts());
    expect(await accounts.users.bootstrapUser({ email: 'owner@localhost' })).toMatchObject({ created: false });
    const { workspace } = await accounts.workspaces.bootstrapWorkspace({ name: 'default' });
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => accounts.users.bootstrapUser({ email: 'owner@localhost' })),
    );
    const [created, ...more] = responses.filter(({ created }) => created);
    expect(more).toEqual([]);
    expect(responses.filter(({ password }) => password !== '')).toHaveLength(1);
    expect(await accounts.tryPassword('owner@localhost', created?.password ?? '')).toMatchObject({
      memberships: [{ workspaceId: workspace?.id, role: Role.OWNER }],
    });
    expect(await accounts.users.bootstrapUser({ email: 'other@localhost' })).toMatchObject({ created: false });
  });
  test('makes the existing user the owner again after the only workspace was deleted', async () => {
    await using accounts = disposable(await startAccounts());
    const email = 'owner@localhost';
    const first = await accounts.workspaces.bootstrapWorkspace({ name: 'default' });
    const { user, password } = await accounts.users.bootstrapUser({ email });
    // Deleting a workspace removes its members; users keep their accounts.
    await accounts.db.query('delete from auth.memberships');
    await accounts.db.query('delete from auth.keys');
    await accounts.db.query('delete from auth.workspaces where id = $1', [first.workspace?.id]);
    const { workspace } = await accounts.workspaces.bootstrapWorkspace({ name: 'default' });
    const again = await accounts.users.bootstrapUser({ email });
    expect(again).toMatchObject({ created: false, user: { id: user?.id }, password: '' });
    expect(await accounts.tryPassword(email, password)).toMatchObject({
      memberships: [{ workspaceId: workspace?.id, role: Role.OWNER }],
    });
    const { rows } = await accounts.db.query('select action from audit.entries where workspace_id = $1 order by id', [
      workspace?.id,
    ]);
    expect(rows.map(({ action }) => action)).toContain('member.added');
    const { created, user: other } = await accounts.users.bootstrapUser({ email: 'other@localhost' });
    expect([created, other]).toEqual([false, undefined]);
  });

  test('creates another owner if no user has the address', async () => {
    await using accounts = disposable(await startAccounts());
    await accounts.newUser();
    await accounts.db.query('delete from auth.memberships');
    const { workspaces } = await accounts.workspaces.listWorkspaces({});
    const created = await accounts.users.bootstrapUser({ email: 'owner@localhost' });
    expect(created).toMatchObject({ created: true });
    expect(await accounts.tryPassword('owner@localhost', created.password)).toMatchObject({
      memberships: [{ workspaceId: workspaces[0]?.id, role: Role.OWNER }],
    });
  });
});
