import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { perSuite } from '@rms/testkit';
import { phcPrefix } from '../../src/password/argon2id.ts';
import { cheapCost } from '../support.ts';
import { as, newEmail, startAccounts } from '../user-support.ts';

const { SIGNED_IN, REFUSED } = SignInOutcome;

const accounts = perSuite(startAccounts);

describe('Signing in with a password', () => {
  test('accepts the correct password, regardless of the case of the address', async () => {
    const ann = await accounts.newUser();
    const second = await accounts.newWorkspace();
    await accounts.users.createUser({ email: ann.email, workspaceId: second, role: Role.DEVELOPER });
    const result = await accounts.tryPassword(` ${ann.email.toUpperCase()}`, ann.password);
    expect(result).toMatchObject({ outcome: SIGNED_IN, user: { id: ann.id }, challenge: '' });
    expect(new Set(result.memberships.map(({ workspaceId }) => workspaceId))).toEqual(
      new Set([ann.workspaceId, second]),
    );
    expect(result.user?.lastSignInTime).toBeDefined();
    // The entry is in every workspace of the user, because the owners of each must see it.
    for (const workspaceId of [ann.workspaceId, second]) {
      expect((await accounts.audited(workspaceId)).at(-1)).toMatchObject({
        action: 'user.signed_in',
        actor: `user:${ann.id}`,
        method: 'password',
      });
    }
  });

  test('normalizes characters that keyboards encode differently', async () => {
    const ann = await accounts.newUser();
    const password = 'Zu\u0308richer See \u2460';
    await accounts.passwords.changePassword({ userId: ann.id, currentPassword: ann.password, password }, as(ann));
    expect(await accounts.tryPassword(ann.email, 'Z\u00fcricher See 1')).toMatchObject({ outcome: SIGNED_IN });
    expect(await accounts.tryPassword(ann.email, 'Zuricher See 1')).toMatchObject({ outcome: REFUSED });
  });

  test.each([
    ['a wrong password', (email: string) => [email, 'wrong password']],
    ['no password', (email: string) => [email, '']],
    ['a very long password', (email: string) => [email, 'x'.repeat(1_000_000)]],
    ['an unknown address', () => [newEmail(), 'wrong password']],
    ['an invalid address', () => ['not\u0000 an address', 'wrong password']],
    ['nothing', () => ['', '']],
  ])('%s is refused, and the response reveals nothing else', async (_, make) => {
    const ann = await accounts.newUser();
    const [email = '', password = ''] = make(ann.email);
    const result = await accounts.tryPassword(email, password);
    expect({ ...result, $typeName: '' }).toEqual({
      $typeName: '',
      outcome: REFUSED,
      memberships: [],
      challenge: '',
      challengeUserId: '',
    });
  });

  test('a failure is audited in the workspace, or in the installation without the typed text', async () => {
    const ann = await accounts.newUser();
    await accounts.tryPassword(ann.email, 'hunter2-hunter2');
    expect((await accounts.audited(ann.workspaceId)).at(-1)).toMatchObject({
      action: 'user.sign_in_failed',
      actor: 'anonymous',
      targetId: ann.id,
      step: 'password',
    });
    const before = await accounts.audited('');
    await accounts.tryPassword('typed-a-password@example.com', 'hunter2-hunter2');
    const after = await accounts.audited('');
    expect(after).toHaveLength(before.length + 1);
    expect(after.at(-1)).toMatchObject({ action: 'user.sign_in_failed', targetId: '' });
    const { rows } = await accounts.db.query('select * from audit.entries');
    expect(JSON.stringify([rows, accounts.logged])).not.toMatch(/hunter2|typed-a-password/);
  });

  test('a user without a workspace can sign in and has no memberships', async () => {
    const ann = await accounts.newUser();
    const other = await accounts.newUser({ workspaceId: ann.workspaceId });
    await accounts.members.removeMember({ workspaceId: ann.workspaceId, userId: ann.id }, as(other));
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN, memberships: [] });
  });

  test('a hash with outdated parameters is replaced at sign-in', async () => {
    const ann = await accounts.newUser();
    // "correct battery staple", hashed with other cost parameters.
    const outdated = '$argon2id$v=19$m=8192,t=2,p=1$IlwMUN7bFkg7AC33JFrCaQ$T3ccHu1yWigalGjrbjezvH+SHM9HwDr2lXJc4cAybh8';
    await accounts.db.query('update auth.users set password_hash = $2 where id = $1', [ann.id, outdated]);
    expect(await accounts.tryPassword(ann.email, 'correct battery staple')).toMatchObject({ outcome: SIGNED_IN });
    const { rows } = await accounts.db.query('select password_hash from auth.users where id = $1', [ann.id]);
    expect(rows[0].password_hash).toContain(phcPrefix(cheapCost));
    expect(await accounts.tryPassword(ann.email, 'correct battery staple')).toMatchObject({ outcome: SIGNED_IN });
  });
});

describe('Sessions', () => {
  test('a session is valid until its user ends all sessions, and has the current memberships', async () => {
    const ann = await accounts.newUser({ role: Role.VIEWER });
    const bob = await accounts.newUser({ workspaceId: ann.workspaceId });
    const check = () => accounts.signIn.checkSession({ userId: ann.id, sessionGeneration: 1n });
    expect(await check()).toMatchObject({ valid: true, memberships: [{ role: Role.VIEWER }] });
    const membership = { workspaceId: ann.workspaceId, userId: ann.id };
    await accounts.members.updateMember({ ...membership, role: Role.ADMIN }, as(bob));
    expect(await check()).toMatchObject({ valid: true, memberships: [{ role: Role.ADMIN }] });
    await accounts.members.removeMember(membership, as(bob));
    expect(await check()).toMatchObject({ valid: true, memberships: [] });
    expect((await accounts.users.endSessions({ id: ann.id }, as(ann))).user?.sessionGeneration).toBe(2n);
    const ended = await check();
    expect({ ...ended, $typeName: '' }).toEqual({ $typeName: '', valid: false, memberships: [] });
  });

  test.each([0n, 2n, -1n])(
    'a session of generation %s, or of an unknown user, is invalid',
    async (sessionGeneration) => {
      const ann = await accounts.newUser();
      expect(await accounts.signIn.checkSession({ userId: ann.id, sessionGeneration })).toMatchObject({ valid: false });
      expect(await accounts.signIn.checkSession({ userId: 'usr_none', sessionGeneration: 1n })).toMatchObject({
        valid: false,
      });
    },
  );
});
