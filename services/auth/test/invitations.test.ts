import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { as, from, newAddress, newEmail, type Person, startPeople, type TestPeople } from './people-support.ts';

const password = 'a quiet lake in autumn';

describe('Invitations', () => {
  let people: TestPeople;
  let owner: Person;
  let workspaceId: string;
  beforeAll(async () => {
    people = await startPeople();
  });
  beforeEach(async () => {
    owner = await people.person();
    workspaceId = owner.workspaceId;
    await people.takeMails();
  });
  afterAll(() => people?.stop());

  const invite = (email: string, role = Role.DEVELOPER, by: Person | undefined = owner) =>
    people.invitations.createInvitation({ workspaceId, email, role }, by && as(by));
  const linkFor = async (email: string, role = Role.DEVELOPER) => {
    const { invitation } = await invite(email, role);
    const [mail] = await people.takeMails();
    if (mail?.content.case !== 'invitation') throw new Error('no mail with an invitation');
    return { id: invitation?.id ?? '', token: mail.content.value.token, mail };
  };
  const acceptNew = (token: string, more: object = {}) =>
    people.invitations.acceptInvitation(
      { token, as: { case: 'newUser', value: { name: 'New', password, ...more } } },
      from(newAddress()),
    );
  const acceptAs = (token: string, who: Person, by = who) =>
    people.invitations.acceptInvitation({ token, as: { case: 'userId', value: who.id } }, as(by));
  const roleOf = async (userId: string) => {
    const { members } = await people.members.listMembers({ workspaceId });
    return members.find((member) => member.userId === userId)?.role;
  };

  test('somebody new follows the link, chooses a password, and is a member who is signed in', async () => {
    const email = `New.Person-${newEmail()}`;
    const { id, token, mail } = await linkFor(email);
    expect(mail).toMatchObject({
      to: email,
      content: { value: { workspaceId, workspaceName: 'Test', role: Role.DEVELOPER, invitedBy: owner.email } },
    });
    const found = await people.invitations.findInvitation({ token });
    expect(found).toMatchObject({
      invitation: { id, email, role: Role.DEVELOPER, invitedBy: `user:${owner.id}` },
      workspaceName: 'Test',
      userExists: false,
    });
    const { result, workspaceId: joined } = await acceptNew(token);
    expect(joined).toBe(workspaceId);
    expect(result).toMatchObject({
      outcome: SignInOutcome.SIGNED_IN,
      user: { email, name: 'New', hasPassword: true },
      memberships: [{ workspaceId, role: Role.DEVELOPER }],
    });
    expect(await people.tryPassword(email, password)).toMatchObject({ outcome: SignInOutcome.SIGNED_IN });
    expect((await people.invitations.listInvitations({ workspaceId })).invitations).toEqual([]);
    const newcomer = `user:${result?.user?.id}`;
    expect(await people.audited(workspaceId, 'invitation.')).toMatchObject([
      { action: 'invitation.created', actor: `user:${owner.id}`, targetId: id, email, role: 'developer' },
      { action: 'invitation.accepted', actor: newcomer, targetId: id },
    ]);
    expect((await people.audited(workspaceId, 'member.added')).at(-1)).toMatchObject({ actor: newcomer });
  });

  test('a link works once, also for two at a time', async () => {
    const { token } = await linkFor(newEmail());
    const [ann, bob] = [await people.person(), await people.person()];
    const results = await Promise.allSettled([acceptAs(token, ann), acceptAs(token, bob), acceptNew(token)]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const late of [() => acceptAs(token, ann), () => people.invitations.findInvitation({ token })]) {
      await expect(late()).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test('who has an account signs in and accepts; a link does not set a password for it', async () => {
    const ann = await people.person();
    const { token } = await linkFor(ann.email.toUpperCase(), Role.ADMIN);
    expect(await people.invitations.findInvitation({ token })).toMatchObject({ userExists: true });
    await expect(acceptNew(token)).rejects.toMatchObject({ code: 'conflict' });
    const { result } = await acceptAs(token, ann);
    expect(result?.memberships).toHaveLength(2);
    expect(await roleOf(ann.id)).toBe(Role.ADMIN);
    expect(await people.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SignInOutcome.SIGNED_IN });
  });

  test('nobody accepts for somebody else, and a member not again', async () => {
    const [ann, bob] = [await people.person(), await people.person()];
    const { token } = await linkFor(ann.email);
    await expect(acceptAs(token, ann, bob)).rejects.toMatchObject({ code: 'insufficient_role' });
    await expect(acceptAs(token, owner)).rejects.toMatchObject({ code: 'conflict' });
    await expect(people.invitations.acceptInvitation({ token })).rejects.toMatchObject({ code: 'invalid_request' });
    // None of that has used it up.
    await acceptAs(token, ann);
  });

  test('a password that may not be chosen uses nothing up', async () => {
    const { token } = await linkFor(newEmail());
    await expect(acceptNew(token, { password: 'short' })).rejects.toMatchObject({ details: [{ field: 'password' }] });
    await expect(acceptNew(token, { name: 'a\nb' })).rejects.toMatchObject({ details: [{ field: 'name' }] });
    await acceptNew(token);
  });

  test('inviting again sends another link in place of the one before, with the new role', async () => {
    const email = newEmail();
    const first = await linkFor(email, Role.VIEWER);
    const second = await linkFor(email.toUpperCase(), Role.ADMIN);
    await expect(people.invitations.findInvitation({ token: first.token })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect((await people.invitations.listInvitations({ workspaceId })).invitations).toMatchObject([
      { id: second.id, role: Role.ADMIN },
    ]);
    await acceptNew(second.token);
  });

  test('a link ends after a week, and when the invitation is revoked; both are listed until then', async () => {
    const late = await linkFor(newEmail());
    await people.db.query(`update auth.invitations set expires_at = expires_at - interval '7 days'`);
    await expect(acceptNew(late.token)).rejects.toMatchObject({ code: 'not_found' });
    expect((await people.invitations.listInvitations({ workspaceId })).invitations).toMatchObject([{ id: late.id }]);
    const revoked = await linkFor(newEmail());
    await people.invitations.revokeInvitation({ workspaceId, id: revoked.id }, as(owner));
    await expect(acceptNew(revoked.token)).rejects.toMatchObject({ code: 'not_found' });
    await expect(people.invitations.revokeInvitation({ workspaceId, id: revoked.id }, as(owner))).rejects.toMatchObject(
      { code: 'not_found' },
    );
    expect((await people.audited(workspaceId, 'invitation.revoked'))[0]).toMatchObject({ targetId: revoked.id });
  });

  test('a member is not invited again; that an address has an account elsewhere does not show', async () => {
    await expect(invite(owner.email)).rejects.toMatchObject({ code: 'conflict' });
    const elsewhere = await people.person();
    const [known, unknown] = [await invite(elsewhere.email), await invite(newEmail())];
    expect(Object.keys(known.invitation ?? {})).toEqual(Object.keys(unknown.invitation ?? {}));
  });

  test('roles: who invites gives no more than they have, and takes back no more', async () => {
    const admin = await people.person({ workspaceId, role: Role.ADMIN });
    const refused = { code: 'insufficient_role' };
    for (const role of [Role.DEVELOPER, Role.VIEWER]) {
      const who = await people.person({ workspaceId, role });
      await expect(invite(newEmail(), Role.VIEWER, who)).rejects.toMatchObject(refused);
      await people.invitations.listInvitations({ workspaceId }, as(who));
    }
    const stranger = await people.person();
    await expect(invite(newEmail(), Role.VIEWER, stranger)).rejects.toMatchObject(refused);
    await expect(people.invitations.listInvitations({ workspaceId }, as(stranger))).rejects.toMatchObject(refused);
    await expect(invite(newEmail(), Role.OWNER, admin)).rejects.toMatchObject(refused);
    await invite(newEmail(), Role.ADMIN, admin);
    const email = newEmail();
    const { id } = await linkFor(email, Role.OWNER);
    await expect(invite(email, Role.VIEWER, admin)).rejects.toMatchObject(refused);
    await expect(people.invitations.revokeInvitation({ workspaceId, id }, as(admin))).rejects.toMatchObject(refused);
    expect((await people.invitations.listInvitations({ workspaceId })).invitations).toHaveLength(2);
  });

  test('one address gets three mails of a workspace, then one every twenty minutes', async () => {
    const email = newEmail();
    for (let i = 0; i < 3; i += 1) await invite(email);
    await expect(invite(email.toUpperCase())).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    await invite(newEmail());
  });

  test.each([
    [{ email: 'nobody' }, 'invalid_request'],
    [{ email: 'a@example.com\r\nBcc: b@example.com' }, 'invalid_request'],
    [{ role: Role.UNSPECIFIED }, 'invalid_request'],
    [{ workspaceId: 'ws_none' }, 'not_found'],
  ])('%o is refused with %s', async (wrong, code) => {
    const request = { workspaceId, email: newEmail(), role: Role.VIEWER, ...wrong };
    await expect(people.invitations.createInvitation(request)).rejects.toMatchObject({ code });
    expect(await people.takeMails()).toEqual([]);
  });

  test.each(['', 'x', 'A'.repeat(43)])('the token %j is none', async (token) => {
    await expect(people.invitations.findInvitation({ token })).rejects.toMatchObject({ code: 'not_found' });
    await expect(acceptNew(token)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('Mails that wait to be sent', () => {
  let people: TestPeople;
  beforeEach(async () => {
    people = await startPeople();
  });
  afterEach(() => people?.stop());

  const ask = async (n: number) => {
    const workspaceId = await people.newWorkspace();
    for (let i = 0; i < n; i += 1) {
      await people.invitations.createInvitation({ workspaceId, email: newEmail(), role: Role.VIEWER });
    }
  };
  const lease = (limit = 100) => people.mails.leaseMailRequests({ limit });
  const idsOf = ({ mailRequests }: Awaited<ReturnType<typeof lease>>) => mailRequests.map(({ id }) => id);

  test('come oldest first, to one who asks at a time, and stay until they are deleted', async () => {
    await ask(5);
    const [first, second] = [idsOf(await lease(2)), idsOf(await lease())];
    expect([...first, ...second]).toEqual([...first, ...second].sort());
    expect([first.length, second.length]).toEqual([2, 3]);
    expect(idsOf(await lease())).toEqual([]);
    await people.mails.deleteMailRequests({ ids: second });
    // A minute later, whoever had them may have died.
    await people.db.query(`update auth.mail_requests set leased_until = leased_until - interval '1 minute'`);
    expect(idsOf(await lease())).toEqual(first);
  });

  test('several who ask at once get different ones', async () => {
    await ask(6);
    const leased = await Promise.all([lease(2), lease(2), lease(2)]);
    const ids = leased.flatMap(idsOf);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length + idsOf(await lease()).length).toBe(6);
  });

  test('past their time they do not come', async () => {
    await ask(1);
    await people.db.query('update auth.mail_requests set expires_at = now()');
    expect(idsOf(await lease())).toEqual([]);
  });

  test.each([0, -1, 101])('a limit of %i is refused', async (limit) => {
    await expect(lease(limit)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('deleting what is not there is no mistake; more than a hundred at once is', async () => {
    await people.mails.deleteMailRequests({ ids: ['mlr_none'] });
    await expect(people.mails.deleteMailRequests({ ids: Array(101).fill('mlr_none') })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
