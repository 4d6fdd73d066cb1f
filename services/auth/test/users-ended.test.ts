import { SecurityMail_Change as Change } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { as, from, newEmail, startPeople, type TestPeople } from './people-support.ts';

describe('Users who are not let in any more', () => {
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople();
  });
  afterAll(() => people?.stop());
  beforeEach(() => people.takeMails());

  const onlyOwner = { code: 'conflict', message: expect.stringContaining('needs an owner') };
  /** An owner, and somebody else in the same workspace. */
  const two = async (role: Role) => {
    const owner = await people.person();
    return { owner, other: await people.person({ role, workspaceId: owner.workspaceId }) };
  };
  const standing = async (userId: string, sessionGeneration = 1n) =>
    (await people.signIn.checkSession({ userId, sessionGeneration })).valid;

  test('one who is disabled is refused like a wrong password, keeps the role, and is let in again when enabled', async () => {
    const { owner, other } = await two(Role.DEVELOPER);
    await people.passwords.requestPasswordReset({ email: other.email }, from('192.0.2.20'));
    const [reset] = await people.takeMails();
    const { user } = await people.users.setUserDisabled({ email: other.email.toUpperCase(), disabled: true });
    expect(user).toMatchObject({ id: other.id, disableTime: expect.anything(), sessionGeneration: 2n });
    // A second time changes nothing.
    expect((await people.users.setUserDisabled({ id: other.id, disabled: true })).user).toEqual(user);

    expect(await standing(other.id)).toBe(false);
    const wrong = await people.tryPassword(other.email, 'wrong wrong wrong');
    expect(await people.tryPassword(other.email, other.password)).toEqual(wrong);
    const token = reset?.content.case === 'passwordReset' ? reset.content.value.token : '';
    await expect(
      people.passwords.resetPassword({ token, password: 'quite another secret' }, from('192.0.2.20')),
    ).rejects.toMatchObject({ code: 'not_found' });
    await people.passwords.requestPasswordReset({ email: other.email }, from('192.0.2.20'));
    expect(await people.takeMails()).toEqual([]);
    const { members } = await people.members.listMembers({ workspaceId: owner.workspaceId }, as(owner));
    expect(members.map(({ userId, role, disabled }) => [userId, role, disabled]).sort()).toEqual(
      [
        [owner.id, Role.OWNER, false],
        [other.id, Role.DEVELOPER, true],
      ].sort(),
    );

    await people.users.setUserDisabled({ id: other.id, disabled: false });
    expect((await people.tryPassword(other.email, other.password)).outcome).toBe(SignInOutcome.SIGNED_IN);
    const actions = (await people.audited(owner.workspaceId)).map(({ action }) => action);
    expect(actions).toEqual(expect.arrayContaining(['user.disabled', 'user.enabled']));
  });

  test('an identity of who is disabled is refused as well', async () => {
    const { other } = await two(Role.VIEWER);
    const identity = { issuer: 'https://id.example.com', subject: other.id, email: other.email, emailVerified: true };
    const signIn = async () => (await people.signIn.verifyIdentity(identity, from('192.0.2.21'))).result?.outcome;
    expect(await signIn()).toBe(SignInOutcome.SIGNED_IN);
    await people.users.setUserDisabled({ id: other.id, disabled: true });
    expect(await signIn()).toBe(SignInOutcome.REFUSED);
  });

  test('a workspace keeps an owner who is let in: the only one can be neither disabled nor deleted nor leave', async () => {
    const { owner, other } = await two(Role.OWNER);
    await people.users.setUserDisabled({ id: other.id, disabled: true });
    const { workspaceId } = owner;
    await expect(people.users.setUserDisabled({ id: owner.id, disabled: true })).rejects.toMatchObject(onlyOwner);
    await expect(people.users.deleteUser({ id: owner.id })).rejects.toMatchObject(onlyOwner);
    const own = { id: owner.id, proof: { password: owner.password } };
    await expect(people.users.deleteUser(own, as(owner))).rejects.toMatchObject(onlyOwner);
    await expect(
      people.members.updateMember({ workspaceId, userId: owner.id, role: Role.ADMIN }, as(owner)),
    ).rejects.toMatchObject(onlyOwner);
    await expect(people.members.removeMember({ workspaceId, userId: owner.id }, as(owner))).rejects.toMatchObject(
      onlyOwner,
    );
    // The other one is no owner that the workspace could do with, and may go.
    await people.users.deleteUser({ email: other.email });
    await expect(people.users.deleteUser({ email: other.email })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('of two owners who delete their accounts at once one stays', async () => {
    const { owner, other } = await two(Role.OWNER);
    const results = await Promise.allSettled(
      [owner, other].map((one) => people.users.deleteUser({ id: one.id, proof: { password: one.password } }, as(one))),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: onlyOwner });
    const { members } = await people.members.listMembers({ workspaceId: owner.workspaceId });
    expect(members).toMatchObject([{ role: Role.OWNER }]);
  });

  test('an account that is deleted leaves nothing but its entries in the audit log, and frees its address', async () => {
    const { owner, other } = await two(Role.ADMIN);
    await people.users.requestEmailChange(
      { id: other.id, email: newEmail(), proof: { password: other.password } },
      as(other),
    );
    await people.tryPassword(other.email, other.password);
    await people.takeMails();
    await expect(people.users.deleteUser({ id: other.id }, as(other))).rejects.toMatchObject({
      details: [{ field: 'password' }],
    });
    await people.users.deleteUser({ id: other.id, proof: { password: other.password } }, as(other));

    expect(await standing(other.id)).toBe(false);
    expect((await people.tryPassword(other.email, other.password)).outcome).toBe(SignInOutcome.REFUSED);
    expect(await people.takeMails()).toMatchObject([
      { to: other.email, content: { case: 'security', value: { change: Change.ACCOUNT_DELETED } } },
    ]);
    const { rows } = await people.db.query<{ name: string }>(
      `select table_name as name from information_schema.columns where table_schema = 'auth' and column_name = 'user_id'`,
    );
    expect(rows.map(({ name }) => name)).toContain('email_changes');
    for (const { name } of rows) {
      const { rowCount } = await people.db.query(`select from auth.${name} where user_id = $1`, [other.id]);
      expect([name, rowCount]).toEqual([name, 0]);
    }
    expect((await people.audited(owner.workspaceId)).at(-1)).toMatchObject({
      action: 'user.deleted',
      actor: `user:${other.id}`,
      targetId: other.id,
    });
    const again = await people.person({ email: other.email });
    expect(again.id).not.toBe(other.id);
  });

  test('people end nobody but themselves', async () => {
    const { owner, other } = await two(Role.VIEWER);
    const refused = { code: 'insufficient_role' };
    const proof = { password: owner.password };
    await expect(people.users.deleteUser({ id: other.id, proof }, as(owner))).rejects.toMatchObject(refused);
    await expect(people.users.deleteUser({ email: owner.email, proof }, as(owner))).rejects.toMatchObject(refused);
    await expect(people.users.setUserDisabled({ id: other.id, disabled: true }, as(owner))).rejects.toMatchObject(
      refused,
    );
  });
});
