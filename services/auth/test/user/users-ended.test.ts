import { SecurityEmail_Change as Change } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { perSuite } from '@rms/testkit';
import { as, from, newEmail, startAccounts, tokenIn } from '../user-support.ts';

describe('Disabled and deleted users', () => {
  const accounts = perSuite(startAccounts);
  beforeEach(() => accounts.takeEmails());

  const onlyOwner = { code: 'conflict', message: expect.stringContaining('needs an owner') };
  /** Creates an owner, and another user in the same workspace. */
  const two = async (role: Role) => {
    const owner = await accounts.newUser();
    return { owner, other: await accounts.newUser({ role, workspaceId: owner.workspaceId }) };
  };
  const isSignedIn = async (userId: string, sessionGeneration = 1n) =>
    (await accounts.signIn.checkSession({ userId, sessionGeneration })).valid;

  test('a disabled user gets the response to a wrong password, keeps the role, and can sign in again when enabled', async () => {
    const { owner, other } = await two(Role.DEVELOPER);
    await accounts.passwords.requestPasswordReset({ email: other.email }, from('192.0.2.20'));
    const [reset] = await accounts.takeEmails();
    const { user } = await accounts.users.setUserDisabled({ email: other.email.toUpperCase(), disabled: true });
    expect(user).toMatchObject({ id: other.id, disableTime: expect.anything(), sessionGeneration: 2n });
    // Disabling again changes nothing.
    expect((await accounts.users.setUserDisabled({ id: other.id, disabled: true })).user).toEqual(user);

    expect(await isSignedIn(other.id)).toBe(false);
    const wrong = await accounts.tryPassword(other.email, 'wrong wrong wrong');
    expect(await accounts.tryPassword(other.email, other.password)).toEqual(wrong);
    const token = tokenIn(reset);
    await expect(
      accounts.passwords.resetPassword({ token, password: 'quite another secret' }, from('192.0.2.20')),
    ).rejects.toMatchObject({ code: 'not_found' });
    await accounts.passwords.requestPasswordReset({ email: other.email }, from('192.0.2.20'));
    expect(await accounts.takeEmails()).toEqual([]);
    const { members } = await accounts.members.listMembers({ workspaceId: owner.workspaceId }, as(owner));
    expect(members.map(({ userId, role, disabled }) => [userId, role, disabled]).sort()).toEqual(
      [
        [owner.id, Role.OWNER, false],
        [other.id, Role.DEVELOPER, true],
      ].sort(),
    );

    await accounts.users.setUserDisabled({ id: other.id, disabled: false });
    expect((await accounts.tryPassword(other.email, other.password)).outcome).toBe(SignInOutcome.SIGNED_IN);
    const actions = (await accounts.audited(owner.workspaceId)).map(({ action }) => action);
    expect(actions).toEqual(expect.arrayContaining(['user.disabled', 'user.enabled']));
  });

  test('an identity of a disabled user is refused', async () => {
    const { other } = await two(Role.VIEWER);
    const identity = { issuer: 'https://id.example.com', subject: other.id, email: other.email, emailVerified: true };
    const signIn = async () => (await accounts.signIn.verifyIdentity(identity, from('192.0.2.21'))).result?.outcome;
    expect(await signIn()).toBe(SignInOutcome.SIGNED_IN);
    await accounts.users.setUserDisabled({ id: other.id, disabled: true });
    expect(await signIn()).toBe(SignInOutcome.REFUSED);
  });

  test('the last enabled owner of a workspace cannot be disabled or deleted, and cannot leave', async () => {
    const { owner, other } = await two(Role.OWNER);
    await accounts.users.setUserDisabled({ id: other.id, disabled: true });
    const { workspaceId } = owner;
    await expect(accounts.users.setUserDisabled({ id: owner.id, disabled: true })).rejects.toMatchObject(onlyOwner);
    await expect(accounts.users.deleteUser({ id: owner.id })).rejects.toMatchObject(onlyOwner);
    const own = { id: owner.id, proof: { password: owner.password } };
    await expect(accounts.users.deleteUser(own, as(owner))).rejects.toMatchObject(onlyOwner);
    await expect(
      accounts.members.updateMember({ workspaceId, userId: owner.id, role: Role.ADMIN }, as(owner)),
    ).rejects.toMatchObject(onlyOwner);
    await expect(accounts.members.removeMember({ workspaceId, userId: owner.id }, as(owner))).rejects.toMatchObject(
      onlyOwner,
    );
    // The disabled owner does not count as an owner and can be deleted.
    await accounts.users.deleteUser({ email: other.email });
    await expect(accounts.users.deleteUser({ email: other.email })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('of two owners who delete their accounts concurrently, one remains', async () => {
    const { owner, other } = await two(Role.OWNER);
    const results = await Promise.allSettled(
      [owner, other].map((one) =>
        accounts.users.deleteUser({ id: one.id, proof: { password: one.password } }, as(one)),
      ),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: onlyOwner });
    const { members } = await accounts.members.listMembers({ workspaceId: owner.workspaceId });
    expect(members).toMatchObject([{ role: Role.OWNER }]);
  });

  test('a deleted account leaves only its audit entries, and its address becomes available', async () => {
    const { owner, other } = await two(Role.ADMIN);
    await accounts.users.requestEmailChange(
      { id: other.id, email: newEmail(), proof: { password: other.password } },
      as(other),
    );
    await accounts.tryPassword(other.email, other.password);
    await accounts.takeEmails();
    await expect(accounts.users.deleteUser({ id: other.id }, as(other))).rejects.toMatchObject({
      details: [{ field: 'password' }],
    });
    await accounts.users.deleteUser({ id: other.id, proof: { password: other.password } }, as(other));

    expect(await isSignedIn(other.id)).toBe(false);
    expect((await accounts.tryPassword(other.email, other.password)).outcome).toBe(SignInOutcome.REFUSED);
    expect(await accounts.takeEmails()).toMatchObject([
      { to: other.email, content: { case: 'security', value: { change: Change.ACCOUNT_DELETED } } },
    ]);
    const { rows } = await accounts.db.query<{ name: string }>(
      `select table_name as name from information_schema.columns where table_schema = 'auth' and column_name = 'user_id'`,
    );
    expect(rows.map(({ name }) => name)).toContain('email_changes');
    for (const { name } of rows) {
      const { rowCount } = await accounts.db.query(`select from auth.${name} where user_id = $1`, [other.id]);
      expect([name, rowCount]).toEqual([name, 0]);
    }
    expect((await accounts.audited(owner.workspaceId)).at(-1)).toMatchObject({
      action: 'user.deleted',
      actor: `user:${other.id}`,
      targetId: other.id,
    });
    const again = await accounts.newUser({ email: other.email });
    expect(again.id).not.toBe(other.id);
  });

  test('users can delete only themselves', async () => {
    const { owner, other } = await two(Role.VIEWER);
    const refused = { code: 'insufficient_role' };
    const proof = { password: owner.password };
    await expect(accounts.users.deleteUser({ id: other.id, proof }, as(owner))).rejects.toMatchObject(refused);
    await expect(accounts.users.deleteUser({ email: owner.email, proof }, as(owner))).rejects.toMatchObject(refused);
    await expect(accounts.users.setUserDisabled({ id: other.id, disabled: true }, as(owner))).rejects.toMatchObject(
      refused,
    );
  });
});
