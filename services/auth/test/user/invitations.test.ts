import { createSecretBox } from '@rms/base/secrets';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { readSettings } from '@rms/runtime/settings';
import { perSuite, perTest } from '@rms/testkit';
import { readAuthConfig } from '../../src/config.ts';
import { emailContext } from '../../src/email/email.ts';
import { keyOf } from '../support.ts';
import { as, from, newAddress, newEmail, startAccounts, type TestUser } from '../user-support.ts';

const password = 'a quiet lake in autumn';
const bigints = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

describe('Invitations', () => {
  let workspaceId: string;
  const accounts = perSuite(startAccounts);
  const owner = perTest(() => accounts.newUser());
  beforeEach(async () => {
    workspaceId = owner.workspaceId;
    await accounts.takeEmails();
  });

  const invite = (email: string, role = Role.DEVELOPER, by: TestUser | undefined = owner) =>
    accounts.invitations.createInvitation({ workspaceId, email, role }, by && as(by));
  const linkFor = async (email: string, role = Role.DEVELOPER) => {
    const { invitation } = await invite(email, role);
    const [sent] = await accounts.takeEmails();
    if (sent?.content.case !== 'invitation') throw new Error('no email with an invitation');
    return { id: invitation?.id ?? '', token: sent.content.value.token, sent };
  };
  const acceptNew = (token: string, more: object = {}) =>
    accounts.invitations.acceptInvitation(
      { token, as: { case: 'newUser', value: { name: 'New', password, ...more } } },
      from(newAddress()),
    );
  const acceptAs = (token: string, account: TestUser, by = account) =>
    accounts.invitations.acceptInvitation({ token, as: { case: 'userId', value: account.id } }, as(by));
  const roleOf = async (userId: string) => {
    const { members } = await accounts.members.listMembers({ workspaceId });
    return members.find((member) => member.userId === userId)?.role;
  };

  test('a new user opens the link, sets a password, and is signed in as a member', async () => {
    const email = `New.Person-${newEmail()}`;
    const { id, token, sent } = await linkFor(email);
    expect(sent).toMatchObject({
      to: email,
      content: { value: { workspaceId, workspaceName: 'Test', role: Role.DEVELOPER, invitedBy: owner.email } },
    });
    const found = await accounts.invitations.findInvitation({ token });
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
    expect(await accounts.tryPassword(email, password)).toMatchObject({ outcome: SignInOutcome.SIGNED_IN });
    expect((await accounts.invitations.listInvitations({ workspaceId })).invitations).toEqual([]);
    const newcomer = `user:${result?.user?.id}`;
    expect(await accounts.audited(workspaceId, 'invitation.')).toMatchObject([
      { action: 'invitation.created', actor: `user:${owner.id}`, targetId: id, email, role: 'developer' },
      { action: 'invitation.accepted', actor: newcomer, targetId: id },
    ]);
    expect((await accounts.audited(workspaceId, 'member.added')).at(-1)).toMatchObject({ actor: newcomer });
  });

  test('a link works once, also with concurrent calls', async () => {
    const { token } = await linkFor(newEmail());
    const [ann, bob] = [await accounts.newUser(), await accounts.newUser()];
    const results = await Promise.allSettled([acceptAs(token, ann), acceptAs(token, bob), acceptNew(token)]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const late of [() => acceptAs(token, ann), () => accounts.invitations.findInvitation({ token })]) {
      await expect(late()).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test('the owner of an existing account must sign in to accept; a link does not set a password for it', async () => {
    const ann = await accounts.newUser();
    const { token } = await linkFor(ann.email.toUpperCase(), Role.ADMIN);
    expect(await accounts.invitations.findInvitation({ token })).toMatchObject({ userExists: true });
    await expect(acceptNew(token)).rejects.toMatchObject({ code: 'conflict' });
    const { result } = await acceptAs(token, ann);
    expect(result?.memberships).toHaveLength(2);
    expect(await roleOf(ann.id)).toBe(Role.ADMIN);
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SignInOutcome.SIGNED_IN });
  });

  test('a user cannot accept for another user, or accept as an existing member', async () => {
    const [ann, bob] = [await accounts.newUser(), await accounts.newUser()];
    const { token } = await linkFor(ann.email);
    await expect(acceptAs(token, ann, bob)).rejects.toMatchObject({ code: 'insufficient_role' });
    const forNoUser = accounts.invitations.acceptInvitation({ token, as: { case: 'userId', value: ann.id } });
    await expect(forNoUser).rejects.toMatchObject({ code: 'insufficient_role' });
    await expect(acceptAs(token, owner)).rejects.toMatchObject({ code: 'conflict' });
    await expect(accounts.invitations.acceptInvitation({ token })).rejects.toMatchObject({ code: 'invalid_request' });
    // None of the rejected attempts has used up the token.
    await acceptAs(token, ann);
  });

  test('a rejected password does not use up the link', async () => {
    const { token } = await linkFor(newEmail());
    await expect(acceptNew(token, { password: 'short' })).rejects.toMatchObject({ details: [{ field: 'password' }] });
    await expect(acceptNew(token, { name: 'a\nb' })).rejects.toMatchObject({ details: [{ field: 'name' }] });
    await acceptNew(token);
  });

  test('the response contains the token only on request, and the token appears nowhere else', async () => {
    const email = newEmail();
    const request = { workspaceId, email, role: Role.VIEWER };
    const { token, invitation } = await accounts.invitations.createInvitation(
      { ...request, returnToken: true },
      as(owner),
    );
    expect(token).toMatch(/^[\w-]{43}$/);
    const { invitations } = await accounts.invitations.listInvitations({ workspaceId }, as(owner));
    expect(invitations).toEqual([invitation]);
    const audited = await accounts.audited(workspaceId, 'invitation.');
    expect(audited).toMatchObject([{ action: 'invitation.created', email }]);
    for (const text of [invitation, invitations, audited, accounts.logged].map((one) => JSON.stringify(one, bigints))) {
      expect(text).not.toContain(token);
    }
    await acceptNew(token);
    expect((await invite(newEmail())).token).toBe('');
  });

  test('inviting again replaces the link and the role', async () => {
    const email = newEmail();
    const first = await linkFor(email, Role.VIEWER);
    const second = await linkFor(email.toUpperCase(), Role.ADMIN);
    await expect(accounts.invitations.findInvitation({ token: first.token })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect((await accounts.invitations.listInvitations({ workspaceId })).invitations).toMatchObject([
      { id: second.id, role: Role.ADMIN },
    ]);
    await acceptNew(second.token);
  });

  test('a link stops working after a week or when the invitation is revoked; expired invitations are still listed', async () => {
    const late = await linkFor(newEmail());
    await accounts.db.query(`update auth.invitations set expires_at = expires_at - interval '7 days 1 second'`);
    await expect(acceptNew(late.token)).rejects.toMatchObject({ code: 'not_found' });
    expect((await accounts.invitations.listInvitations({ workspaceId })).invitations).toMatchObject([{ id: late.id }]);
    const revoked = await linkFor(newEmail());
    await accounts.invitations.revokeInvitation({ workspaceId, id: revoked.id }, as(owner));
    await expect(acceptNew(revoked.token)).rejects.toMatchObject({ code: 'not_found' });
    await expect(
      accounts.invitations.revokeInvitation({ workspaceId, id: revoked.id }, as(owner)),
    ).rejects.toMatchObject({ code: 'not_found' });
    expect((await accounts.audited(workspaceId, 'invitation.revoked'))[0]).toMatchObject({ targetId: revoked.id });
  });

  test('a member cannot be invited; accounts in other workspaces are not revealed', async () => {
    await expect(invite(owner.email)).rejects.toMatchObject({ code: 'conflict' });
    const elsewhere = await accounts.newUser();
    const [known, unknown] = [await invite(elsewhere.email), await invite(newEmail())];
    expect(Object.keys(known.invitation ?? {})).toEqual(Object.keys(unknown.invitation ?? {}));
  });

  test('inviters cannot grant or revoke roles above their own', async () => {
    const admin = await accounts.newUser({ workspaceId, role: Role.ADMIN });
    const refused = { code: 'insufficient_role' };
    for (const role of [Role.DEVELOPER, Role.VIEWER]) {
      const account = await accounts.newUser({ workspaceId, role });
      await expect(invite(newEmail(), Role.VIEWER, account)).rejects.toMatchObject(refused);
      await accounts.invitations.listInvitations({ workspaceId }, as(account));
    }
    const outsider = await accounts.newUser();
    await expect(invite(newEmail(), Role.VIEWER, outsider)).rejects.toMatchObject(refused);
    await expect(accounts.invitations.listInvitations({ workspaceId }, as(outsider))).rejects.toMatchObject(refused);
    await expect(invite(newEmail(), Role.OWNER, admin)).rejects.toMatchObject(refused);
    await invite(newEmail(), Role.ADMIN, admin);
    const email = newEmail();
    const { id } = await linkFor(email, Role.OWNER);
    await expect(invite(email, Role.VIEWER, admin)).rejects.toMatchObject(refused);
    await expect(accounts.invitations.revokeInvitation({ workspaceId, id }, as(admin))).rejects.toMatchObject(refused);
    expect((await accounts.invitations.listInvitations({ workspaceId })).invitations).toHaveLength(2);
  });

  test('an address gets three emails per workspace, then one every twenty minutes', async () => {
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
  ])('%o is rejected with %s', async (wrong, code) => {
    const request = { workspaceId, email: newEmail(), role: Role.VIEWER, ...wrong };
    await expect(accounts.invitations.createInvitation(request)).rejects.toMatchObject({ code });
    expect(await accounts.takeEmails()).toEqual([]);
  });

  test.each(['', 'x', 'A'.repeat(43)])('the token %j is invalid', async (token) => {
    await expect(accounts.invitations.findInvitation({ token })).rejects.toMatchObject({ code: 'not_found' });
    await expect(acceptNew(token)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('Queued emails', () => {
  const accounts = perSuite(startAccounts);
  beforeEach(() => accounts.db.query('truncate auth.email_requests'));

  const ask = async (n: number) => {
    const workspaceId = await accounts.newWorkspace();
    for (let i = 0; i < n; i += 1) {
      await accounts.invitations.createInvitation({ workspaceId, email: newEmail(), role: Role.VIEWER });
    }
  };
  const lease = (limit = 100) => accounts.emails.leaseEmailRequests({ limit });
  const idsOf = ({ emailRequests }: Awaited<ReturnType<typeof lease>>) => emailRequests.map(({ id }) => id);

  test('are leased oldest first, to one caller at a time, until they are deleted', async () => {
    await ask(5);
    const [first, second] = [idsOf(await lease(2)), idsOf(await lease())];
    expect([...first, ...second]).toEqual([...first, ...second].sort());
    expect([first.length, second.length]).toEqual([2, 3]);
    expect(idsOf(await lease())).toEqual([]);
    await accounts.emails.deleteEmailRequests({ ids: second });
    // A minute later the leases have expired, as after the caller's crash.
    await accounts.db.query(`update auth.email_requests set leased_until = leased_until - interval '1 minute'`);
    expect(idsOf(await lease())).toEqual(first);
  });

  test('an email that cannot be decoded is logged and does not block the others', async () => {
    await ask(2);
    const { secretKeys } = readAuthConfig(readSettings({ ENCRYPTION_KEY: keyOf(1) }));
    const { rows } = await accounts.db.query<{ id: string }>('select id from auth.email_requests order by id');
    const [bad = '', good] = rows.map(({ id }) => id);
    const sealed = createSecretBox(secretKeys[0], []).seal(Buffer.from([0xff, 0xff, 0xff]), emailContext(bad));
    await accounts.db.query('update auth.email_requests set sealed = $2 where id = $1', [bad, sealed]);
    expect(idsOf(await lease())).toEqual([good]);
    expect(accounts.logged.some((line) => line.includes('could not decode a queued email') && line.includes(bad))).toBe(
      true,
    );
    await accounts.emails.deleteEmailRequests({ ids: [bad] });
  });

  test('concurrent callers get different emails', async () => {
    await ask(6);
    const leased = await Promise.all([lease(2), lease(2), lease(2)]);
    const ids = leased.flatMap(idsOf);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length + idsOf(await lease()).length).toBe(6);
  });

  test('expired emails are not leased', async () => {
    await ask(1);
    await accounts.db.query('update auth.email_requests set expires_at = now()');
    expect(idsOf(await lease())).toEqual([]);
  });

  test.each([0, -1, 101])('a limit of %i is rejected', async (limit) => {
    await expect(lease(limit)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('deleting an unknown email succeeds; deleting more than a hundred per call is rejected', async () => {
    await accounts.emails.deleteEmailRequests({ ids: ['mlr_none'] });
    await expect(accounts.emails.deleteEmailRequests({ ids: Array(101).fill('mlr_none') })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
