import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { as, newEmail, startPeople, type TestPeople } from './people-support.ts';

describe('Users', () => {
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople();
  });
  afterAll(() => people?.stop());

  test('a user has what was given, a password that works, and a place in the workspace', async () => {
    const workspaceId = await people.newWorkspace();
    const email = `Ann.Lee+rms@${newEmail().split('@')[1]}`;
    const made = await people.users.createUser({ email: ` ${email} `, name: 'Ann 李', workspaceId, role: Role.ADMIN });
    expect(made).toMatchObject({
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
    expect(made.user?.lastSignInTime).toBeUndefined();
    const id = made.user?.id ?? '';
    const { user, memberships, identities } = await people.users.getUser({ id });
    expect(user).toEqual(made.user);
    expect(identities).toEqual([]);
    expect(memberships).toMatchObject([{ workspaceId, workspaceName: 'Test', role: Role.ADMIN }]);
    expect(await people.audited(workspaceId, 'user.')).toMatchObject([{ action: 'user.created', targetId: id, email }]);
    expect(await people.audited(workspaceId, 'member.')).toMatchObject([{ action: 'member.added', role: 'admin' }]);
  });

  test('the password is stored as Argon2id only, and is in no log and no entry of the audit log', async () => {
    const { id, password } = await people.person();
    const { rows } = await people.db.query('select * from auth.users where id = $1', [id]);
    expect(rows[0].password_hash).toMatch(/^\$argon2id\$v=19\$m=32768,t=3,p=1\$/);
    const everything = JSON.stringify([
      rows,
      (await people.db.query('select * from audit.entries')).rows,
      people.logged,
    ]);
    expect(everything).not.toContain(password);
    expect(everything).not.toContain(password.replaceAll('-', ''));
  });

  test('addresses are one without regard to case: a second workspace is added, name and password stay', async () => {
    const first = await people.person({ email: `Case-${newEmail()}` });
    const workspaceId = await people.newWorkspace();
    const again = { email: first.email.toUpperCase(), name: 'Other', workspaceId, role: Role.VIEWER };
    const second = await people.users.createUser(again);
    expect(second).toMatchObject({
      created: false,
      password: '',
      user: { id: first.id, email: first.email, name: '' },
    });
    const { memberships } = await people.users.getUser({ id: first.id });
    expect(memberships.map(({ role }) => role).sort()).toEqual([Role.VIEWER, Role.OWNER]);
    await expect(people.users.createUser(again)).rejects.toMatchObject({ code: 'conflict' });
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
  ])('%j is no e-mail address', async (email) => {
    const workspaceId = await people.newWorkspace();
    await expect(people.users.createUser({ email, workspaceId, role: Role.VIEWER })).rejects.toMatchObject({
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
  ])('%o is refused with %s, and nothing is made', async (wrong, code) => {
    const email = newEmail();
    const request = { email, workspaceId: await people.newWorkspace(), role: Role.VIEWER, ...wrong };
    await expect(people.users.createUser(request)).rejects.toMatchObject({ code });
    const { rowCount } = await people.db.query('select from auth.users where email = $1', [email]);
    expect(rowCount).toBe(0);
  });

  test('all users are listed with their workspaces, page by page', async () => {
    const mine = [await people.person(), await people.person(), await people.person()];
    const listed = [];
    for (let pageToken = ''; ; ) {
      const page = await people.users.listUsers({ pageSize: 2, pageToken });
      expect(page.users.length).toBeLessThanOrEqual(2);
      listed.push(...page.users);
      pageToken = page.nextPageToken;
      if (pageToken === '') break;
    }
    const ids = listed.map(({ user }) => user?.id ?? '');
    expect(ids).toEqual([...new Set(ids)].sort());
    for (const { id, workspaceId } of mine) {
      expect(listed.find(({ user }) => user?.id === id)?.memberships).toMatchObject([{ workspaceId }]);
    }
    for (const wrong of [{ pageSize: 0 }, { pageSize: 1_001 }, { pageSize: 1, pageToken: 'key_1' }]) {
      await expect(people.users.listUsers(wrong)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  test('a person changes their own name', async () => {
    const ann = await people.person();
    const { user } = await people.users.updateUser({ id: ann.id, name: 'Ann' }, as(ann));
    expect(user?.name).toBe('Ann');
    expect((await people.audited(ann.workspaceId)).at(-1)).toMatchObject({ action: 'user.updated', name: 'Ann' });
    const entries = await people.audited(ann.workspaceId);
    await people.users.updateUser({ id: ann.id, name: 'Ann' }, as(ann));
    await people.users.updateUser({ id: ann.id }, as(ann));
    expect(await people.audited(ann.workspaceId)).toEqual(entries);
    await expect(people.users.updateUser({ id: ann.id, name: 'a\u0000' }, as(ann))).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test('a reset gives a new password, ends the former one and all sessions', async () => {
    const ann = await people.person();
    const reset = await people.users.resetUser({ email: ann.email.toUpperCase() });
    expect(reset.password).not.toBe(ann.password);
    expect(reset.user).toMatchObject({ id: ann.id, sessionGeneration: 2n });
    expect(await people.tryPassword(ann.email, ann.password)).not.toHaveProperty('user.id');
    expect(await people.tryPassword(ann.email, reset.password)).toMatchObject({ user: { id: ann.id } });
    expect(await people.signIn.checkSession({ userId: ann.id, sessionGeneration: 1n })).toMatchObject({ valid: false });
    expect(await people.users.resetUser({ id: ann.id })).toMatchObject({ user: { sessionGeneration: 3n } });
    for (const nobody of [{ id: 'usr_none' }, { email: 'nobody@example.com' }, {}]) {
      await expect(people.users.resetUser(nobody)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test('people are kept from what is for operators, and from one another', async () => {
    const [ann, bob] = [await people.person(), await people.person()];
    const { workspaceId } = ann;
    const refused = { code: 'insufficient_role' };
    const asAnn = as(ann);
    const { users } = people;
    await expect(users.createUser({ email: newEmail(), workspaceId, role: 1 }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.bootstrapUser({ email: newEmail() }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.resetUser({ id: ann.id }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.listUsers({ pageSize: 1 }, asAnn)).rejects.toMatchObject(refused);
    await expect(people.secrets.reencryptSecrets({}, asAnn)).rejects.toMatchObject(refused);
    await expect(users.getUser({ id: bob.id }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.updateUser({ id: bob.id, name: 'x' }, asAnn)).rejects.toMatchObject(refused);
    await expect(users.endSessions({ id: bob.id }, asAnn)).rejects.toMatchObject(refused);
  });
});

describe('BootstrapUser', () => {
  test('the first user owns the first workspace; made once, however many ask', async () => {
    const people = await startPeople();
    try {
      expect(await people.users.bootstrapUser({ email: 'owner@localhost' })).toMatchObject({ created: false });
      const { workspace } = await people.workspaces.bootstrapWorkspace({ name: 'default' });
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => people.users.bootstrapUser({ email: 'owner@localhost' })),
      );
      const [made, ...more] = answers.filter(({ created }) => created);
      expect(more).toEqual([]);
      expect(answers.filter(({ password }) => password !== '')).toHaveLength(1);
      expect(await people.tryPassword('owner@localhost', made?.password ?? '')).toMatchObject({
        memberships: [{ workspaceId: workspace?.id, role: Role.OWNER }],
      });
      expect(await people.users.bootstrapUser({ email: 'other@localhost' })).toMatchObject({ created: false });
    } finally {
      await people.stop();
    }
  });
});
