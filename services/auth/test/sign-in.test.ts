import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { as, newEmail, startPeople, type TestPeople } from './people-support.ts';

const { SIGNED_IN, REFUSED } = SignInOutcome;

describe('Signing in by password', () => {
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople();
  });
  afterAll(() => people?.stop());

  test('the right password, whatever the case of the address', async () => {
    const ann = await people.person();
    const second = await people.newWorkspace();
    await people.users.createUser({ email: ann.email, workspaceId: second, role: Role.DEVELOPER });
    const result = await people.tryPassword(` ${ann.email.toUpperCase()}`, ann.password);
    expect(result).toMatchObject({ outcome: SIGNED_IN, user: { id: ann.id }, challenge: '' });
    expect(new Set(result.memberships.map(({ workspaceId }) => workspaceId))).toEqual(
      new Set([ann.workspaceId, second]),
    );
    expect(result.user?.lastSignInTime).toBeDefined();
    // In every workspace of the person: the owners of each have to see it.
    for (const workspaceId of [ann.workspaceId, second]) {
      expect((await people.audited(workspaceId)).at(-1)).toMatchObject({
        action: 'user.signed_in',
        actor: `user:${ann.id}`,
        method: 'password',
      });
    }
  });

  test('letters that look alike are alike, however a keyboard composes them', async () => {
    const ann = await people.person();
    const password = 'Zu\u0308richer See \u2460';
    await people.passwords.changePassword({ userId: ann.id, currentPassword: ann.password, password }, as(ann));
    expect(await people.tryPassword(ann.email, 'Z\u00fcricher See 1')).toMatchObject({ outcome: SIGNED_IN });
    expect(await people.tryPassword(ann.email, 'Zuricher See 1')).toMatchObject({ outcome: REFUSED });
  });

  test.each([
    ['a wrong password', (email: string) => [email, 'wrong password']],
    ['no password', (email: string) => [email, '']],
    ['a very long password', (email: string) => [email, 'x'.repeat(1_000_000)]],
    ['an unknown address', () => [newEmail(), 'wrong password']],
    ['what is no address', () => ['not\u0000 an address', 'wrong password']],
    ['nothing', () => ['', '']],
  ])('%s is refused, by an answer that tells nothing else', async (_, make) => {
    const ann = await people.person();
    const [email = '', password = ''] = make(ann.email);
    const result = await people.tryPassword(email, password);
    expect({ ...result, $typeName: '' }).toEqual({ $typeName: '', outcome: REFUSED, memberships: [], challenge: '' });
  });

  test('a failure is in the audit log: of the workspace, or else of the installation without what was typed', async () => {
    const ann = await people.person();
    await people.tryPassword(ann.email, 'hunter2-hunter2');
    expect((await people.audited(ann.workspaceId)).at(-1)).toMatchObject({
      action: 'user.sign_in_failed',
      actor: 'anonymous',
      targetId: ann.id,
      step: 'password',
    });
    const before = await people.audited('');
    await people.tryPassword('typed-a-password@example.com', 'hunter2-hunter2');
    const after = await people.audited('');
    expect(after).toHaveLength(before.length + 1);
    expect(after.at(-1)).toMatchObject({ action: 'user.sign_in_failed', targetId: '' });
    const { rows } = await people.db.query('select * from audit.entries');
    expect(JSON.stringify([rows, people.logged])).not.toMatch(/hunter2|typed-a-password/);
  });

  test('a user who is in no workspace can sign in, and sees none', async () => {
    const ann = await people.person();
    const other = await people.person({ workspaceId: ann.workspaceId });
    await people.members.removeMember({ workspaceId: ann.workspaceId, userId: ann.id }, as(other));
    expect(await people.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN, memberships: [] });
  });

  test('a hash of another cost is replaced when its user signs in', async () => {
    const ann = await people.person();
    // "correct battery staple" at a cost that is not ours.
    const { hash } = await import('@node-rs/argon2');
    const cheap = await hash('correct battery staple', { memoryCost: 8_192, timeCost: 2, parallelism: 1 });
    await people.db.query('update auth.users set password_hash = $2 where id = $1', [ann.id, cheap]);
    expect(await people.tryPassword(ann.email, 'correct battery staple')).toMatchObject({ outcome: SIGNED_IN });
    const { rows } = await people.db.query('select password_hash from auth.users where id = $1', [ann.id]);
    expect(rows[0].password_hash).toMatch(/^\$argon2id\$v=19\$m=32768,t=3,p=1\$/);
    expect(await people.tryPassword(ann.email, 'correct battery staple')).toMatchObject({ outcome: SIGNED_IN });
  });
});

describe('Sessions', () => {
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople();
  });
  afterAll(() => people?.stop());

  test('a session stands until its user ends all of them; what it may do is as it is now', async () => {
    const ann = await people.person({ role: Role.VIEWER });
    const bob = await people.person({ workspaceId: ann.workspaceId });
    const check = () => people.signIn.checkSession({ userId: ann.id, sessionGeneration: 1n });
    expect(await check()).toMatchObject({ valid: true, memberships: [{ role: Role.VIEWER }] });
    const place = { workspaceId: ann.workspaceId, userId: ann.id };
    await people.members.updateMember({ ...place, role: Role.ADMIN }, as(bob));
    expect(await check()).toMatchObject({ valid: true, memberships: [{ role: Role.ADMIN }] });
    await people.members.removeMember(place, as(bob));
    expect(await check()).toMatchObject({ valid: true, memberships: [] });
    expect((await people.users.endSessions({ id: ann.id }, as(ann))).user?.sessionGeneration).toBe(2n);
    const ended = await check();
    expect({ ...ended, $typeName: '' }).toEqual({ $typeName: '', valid: false, memberships: [] });
  });

  test.each([0n, 2n, -1n])('a session of generation %s, or of nobody, is none', async (sessionGeneration) => {
    const ann = await people.person();
    expect(await people.signIn.checkSession({ userId: ann.id, sessionGeneration })).toMatchObject({ valid: false });
    expect(await people.signIn.checkSession({ userId: 'usr_none', sessionGeneration: 1n })).toMatchObject({
      valid: false,
    });
  });
});
