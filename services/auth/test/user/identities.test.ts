import { SecurityEmail_Change as Change } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { perSuite } from '@rms/testkit';
import { as, from, newAddress, newEmail, startAccounts, tokenIn } from '../user-support.ts';

const { SIGNED_IN, REFUSED, SECOND_FACTOR_REQUIRED } = SignInOutcome;
const issuer = 'https://id.example.com';

describe('Signing in with an identity', () => {
  let subjects = 0;
  const accounts = perSuite(startAccounts);
  beforeEach(() => accounts.takeEmails());

  const newSubject = () => {
    subjects += 1;
    return `subject-${subjects}`;
  };
  const verify = async (claims: object, address = newAddress()) => {
    const { result } = await accounts.signIn.verifyIdentity({ issuer, ...claims }, from(address));
    return result;
  };

  test('a verified address links the identity once; later only the subject matters', async () => {
    const ann = await accounts.newUser();
    const subject = newSubject();
    expect(await verify({ subject, email: ann.email.toUpperCase(), emailVerified: true })).toMatchObject({
      outcome: SIGNED_IN,
      user: { id: ann.id },
      memberships: [{ workspaceId: ann.workspaceId }],
    });
    expect(await verify({ subject, email: newEmail(), emailVerified: true })).toMatchObject({ user: { id: ann.id } });
    expect(await verify({ subject })).toMatchObject({ user: { id: ann.id } });
    expect((await accounts.users.getUser({ id: ann.id })).identities).toMatchObject([{ issuer, subject }]);
    expect(await accounts.takeEmails()).toMatchObject([
      { to: ann.email, content: { value: { change: Change.IDENTITY_LINKED } } },
    ]);
    expect((await accounts.audited(ann.workspaceId)).slice(1, 3)).toMatchObject([
      { action: 'user.identity_linked', issuer, subject },
      { action: 'user.signed_in', method: 'identity' },
    ]);
  });

  test('an unverified or unknown address links no identity', async () => {
    const ann = await accounts.newUser();
    for (const claims of [
      { email: ann.email },
      { email: ann.email, emailVerified: false },
      { email: newEmail(), emailVerified: true },
      { email: '', emailVerified: true },
      { emailVerified: true },
    ]) {
      const result = await verify({ subject: newSubject(), ...claims });
      expect({ ...result, $typeName: '' }).toEqual({
        $typeName: '',
        outcome: REFUSED,
        memberships: [],
        challenge: '',
        challengeUserId: '',
      });
    }
    expect((await accounts.users.getUser({ id: ann.id })).identities).toEqual([]);
  });

  test('an address that the provider reassigns does not give access to the account', async () => {
    const ann = await accounts.newUser();
    await verify({ subject: newSubject(), email: ann.email, emailVerified: true });
    expect(await verify({ subject: newSubject(), email: ann.email, emailVerified: true })).toMatchObject({
      outcome: REFUSED,
    });
  });

  test('of two concurrent first sign-ins with different subjects, one links its identity', async () => {
    const ann = await accounts.newUser();
    const results = await Promise.all(
      [newSubject(), newSubject()].map((subject) => verify({ subject, email: ann.email, emailVerified: true })),
    );
    expect(results.map((result) => result?.outcome).sort()).toEqual([SIGNED_IN, REFUSED].sort());
    expect((await accounts.users.getUser({ id: ann.id })).identities).toHaveLength(1);
  });

  test('subjects are separate per provider', async () => {
    const [ann, subject] = [await accounts.newUser(), newSubject()];
    await verify({ subject, email: ann.email, emailVerified: true });
    expect(await verify({ issuer: 'https://other.example.com', subject })).toMatchObject({ outcome: REFUSED });
    expect(
      await verify({ issuer: 'https://other.example.com', subject, email: ann.email, emailVerified: true }),
    ).toMatchObject({ outcome: SIGNED_IN });
  });

  test('a user with a second factor must also enter a code', async () => {
    const [ann, subject] = [await accounts.newUser(), newSubject()];
    const { code } = await accounts.enroll(ann);
    const first = await verify({ subject, email: ann.email, emailVerified: true });
    expect(first).toMatchObject({ outcome: SECOND_FACTOR_REQUIRED, challengeUserId: ann.id, memberships: [] });
    const identities = async () => (await accounts.users.getUser({ id: ann.id })).identities;
    // Neither the provider alone nor a wrong code links the identity.
    await accounts.signIn.verifySecondFactor({ challenge: first?.challenge ?? '', code: '000000' });
    expect(await identities()).toEqual([]);
    expect((await accounts.takeEmails()).map(({ content }) => content.value)).not.toContainEqual(
      expect.objectContaining({ change: Change.IDENTITY_LINKED }),
    );
    await accounts.db.query('update auth.users set second_factor_step = 0');
    const { result } = await accounts.signIn.verifySecondFactor({ challenge: first?.challenge ?? '', code });
    expect(result).toMatchObject({ outcome: SIGNED_IN });
    expect(await identities()).toMatchObject([{ issuer, subject }]);
    expect(await verify({ subject })).toMatchObject({ outcome: SECOND_FACTOR_REQUIRED });
    expect((await accounts.audited(ann.workspaceId)).at(-1)).toMatchObject({
      method: 'identity',
      second_factor: 'authenticator',
    });
  });

  test('no identity is linked to a disabled user, even if the user is disabled between the steps', async () => {
    const { workspaceId } = await accounts.newUser();
    const member = { workspaceId, role: Role.VIEWER };
    const [ann, bob] = [await accounts.newUser(member), await accounts.newUser(member)];
    await accounts.users.setUserDisabled({ id: ann.id, disabled: true });
    expect(await verify({ subject: newSubject(), email: ann.email, emailVerified: true })).toMatchObject({
      outcome: REFUSED,
    });
    const { code } = await accounts.enroll(bob);
    const first = await verify({ subject: newSubject(), email: bob.email, emailVerified: true });
    await accounts.db.query('update auth.users set second_factor_step = 0 where id = $1', [bob.id]);
    await accounts.users.setUserDisabled({ id: bob.id, disabled: true });
    const { result } = await accounts.signIn.verifySecondFactor({ challenge: first?.challenge ?? '', code });
    expect(result).toMatchObject({ outcome: REFUSED });
    for (const { id } of [ann, bob]) expect((await accounts.users.getUser({ id })).identities).toEqual([]);
  });

  test('of two sign-ins with different identities that await the second factor, one links its identity', async () => {
    const ann = await accounts.newUser();
    const { code } = await accounts.enroll(ann);
    const subjects = [newSubject(), newSubject()];
    const outcomes: unknown[] = [];
    const challenges: string[] = [];
    for (const subject of subjects) {
      challenges.push((await verify({ subject, email: ann.email, emailVerified: true }))?.challenge ?? '');
    }
    for (const challenge of challenges) {
      await accounts.db.query('update auth.users set second_factor_step = 0 where id = $1', [ann.id]);
      outcomes.push((await accounts.signIn.verifySecondFactor({ challenge, code })).result?.outcome);
    }
    expect(outcomes).toEqual([SIGNED_IN, REFUSED]);
    expect((await accounts.users.getUser({ id: ann.id })).identities).toMatchObject([{ subject: subjects[0] }]);
  });

  test('an invitation accepted with an identity creates a user without a password; a reset link sets one', async () => {
    const [owner, email, subject] = [await accounts.newUser(), newEmail(), newSubject()];
    const linkTo = async (to: string) => {
      await accounts.invitations.createInvitation({ workspaceId: owner.workspaceId, email: to, role: Role.VIEWER });
      return tokenIn((await accounts.takeEmails()).at(-1));
    };
    const accept = (token: string, subject: string) =>
      accounts.invitations.acceptInvitation(
        { token, as: { case: 'newIdentity', value: { issuer, subject, name: 'Ann' } } },
        from(newAddress()),
      );
    const { result } = await accept(await linkTo(email), subject);
    expect(result).toMatchObject({ outcome: SIGNED_IN, user: { email, name: 'Ann', hasPassword: false } });
    const ann = { id: result?.user?.id ?? '' };
    expect(await verify({ subject })).toMatchObject({ outcome: SIGNED_IN, user: ann });
    expect(await accounts.tryPassword(email, '')).toMatchObject({ outcome: REFUSED });
    // An invitation takes over neither a linked identity nor an existing account.
    const other = await linkTo(newEmail());
    await expect(accept(other, subject)).rejects.toMatchObject({ code: 'conflict' });
    const password = 'a quiet lake in autumn';
    await expect(
      accounts.passwords.changePassword({ userId: ann.id, currentPassword: '', password }, as(ann)),
    ).rejects.toMatchObject({ code: 'conflict' });
    // Without a proof, anyone at an unattended session could enable a second factor and lock the user out.
    await expect(
      accounts.secondFactors.beginSecondFactor({ userId: ann.id, password: '' }, as(ann)),
    ).rejects.toMatchObject({ code: 'conflict' });
    await accounts.passwords.requestPasswordReset({ email }, from(newAddress()));
    const token = tokenIn((await accounts.takeEmails()).at(-1));
    await accounts.passwords.resetPassword({ token, password }, from(newAddress()));
    expect(await accounts.tryPassword(email, password)).toMatchObject({ outcome: SIGNED_IN, user: ann });
    await expect(accept(other, '')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(accept(await linkTo((await accounts.newUser()).email), newSubject())).rejects.toMatchObject({
      code: 'conflict',
    });
    await accept(other, newSubject());
  });

  test('signing in with an identity accepts an invitation to its verified address, without a password', async () => {
    const [owner, other, email] = [await accounts.newUser(), await accounts.newUser(), newEmail()];
    const invite = async ({ workspaceId }: { workspaceId: string }, to: string) => {
      const created = await accounts.invitations.createInvitation({ workspaceId, email: to, role: Role.DEVELOPER });
      return created.invitation?.id ?? '';
    };
    const join = (claims: object) => accounts.signIn.verifyIdentity({ issuer, ...claims }, from(newAddress()));
    const refused = { result: { outcome: REFUSED }, workspaceId: '' };
    const invitationId = await invite(owner, email);
    expect(await join({ subject: newSubject(), email, emailVerified: false })).toMatchObject(refused);
    expect(await join({ subject: newSubject(), email: newEmail(), emailVerified: true, invitationId })).toMatchObject(
      refused,
    );
    const subject = newSubject();
    const joined = await join({ subject, email: email.toUpperCase(), emailVerified: true });
    expect(joined).toMatchObject({
      workspaceId: owner.workspaceId,
      result: { outcome: SIGNED_IN, user: { email, hasPassword: false }, memberships: [{ role: Role.DEVELOPER }] },
    });
    expect(await verify({ subject })).toMatchObject({ outcome: SIGNED_IN, user: { id: joined.result?.user?.id } });
    expect((await accounts.audited(owner.workspaceId, '')).slice(-6).map(({ action }) => action)).toEqual([
      ...['invitation.accepted', 'user.created', 'user.identity_linked', 'member.added'],
      ...['user.signed_in', 'user.signed_in'],
    ]);
    // Of several workspaces, the user must choose one; an existing user accepts when signed in.
    const second = newEmail();
    const chosen = await invite(owner, second);
    await invite(other, second);
    const claims = { subject: newSubject(), email: second, emailVerified: true };
    expect(await join(claims)).toMatchObject(refused);
    expect(await join({ ...claims, invitationId: chosen })).toMatchObject({ workspaceId: owner.workspaceId });
    expect(await join({ ...claims, subject: newSubject() })).toMatchObject(refused);
    const expired = newEmail();
    await invite(owner, expired);
    await accounts.db.query(`update auth.invitations set expires_at = now() where email_key = $1`, [expired]);
    expect(await join({ subject: newSubject(), email: expired, emailVerified: true })).toMatchObject(refused);
  });

  test('an identity that someone linked with a stolen password does not survive the recovery of the account', async () => {
    const ann = await accounts.newUser();
    const [stranger, own] = [newSubject(), newSubject()];
    const strangersEmail = newEmail();
    const changeEmail = async (email: string, password: string) => {
      await accounts.users.requestEmailChange({ id: ann.id, email, proof: { password } }, as(ann));
      const token = tokenIn((await accounts.takeEmails()).find(({ content }) => content.case === 'emailChange'));
      await accounts.users.confirmEmailChange({ token }, from(newAddress()));
    };
    const viaStranger = () => verify({ subject: stranger, email: strangersEmail, emailVerified: true });
    // The stranger changes the address and links an identity.
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
    await changeEmail(strangersEmail, ann.password);
    expect(await viaStranger()).toMatchObject({ outcome: SIGNED_IN, user: { id: ann.id } });
    // An operator and the user recover the account.
    const { password } = await accounts.users.resetUser({ id: ann.id, removeSecondFactor: true });
    expect(await verify({ subject: stranger })).toMatchObject({ outcome: REFUSED });
    expect(await viaStranger()).toMatchObject({ outcome: SIGNED_IN });
    await changeEmail(ann.email, password);
    expect(await viaStranger()).toMatchObject({ outcome: REFUSED });
    await accounts.passwords.changePassword(
      { userId: ann.id, currentPassword: password, password: 'a quiet lake in autumn' },
      as(ann, newAddress()),
    );
    await accounts.users.endSessions({ id: ann.id }, as(ann));
    expect(await viaStranger()).toMatchObject({ outcome: REFUSED });
    expect(await verify({ subject: own, email: ann.email, emailVerified: true })).toMatchObject({
      outcome: SIGNED_IN,
      user: { id: ann.id },
    });
    expect(await accounts.audited(ann.workspaceId, 'user.identity_unlinked')).toMatchObject([
      { issuer, subject: stranger, targetId: ann.id },
      { issuer, subject: stranger, targetId: ann.id },
    ]);
  });

  test('users and operators see when and by which address an identity was linked, and unlink it', async () => {
    const [ann, bob, subject, address] = [
      await accounts.newUser(),
      await accounts.newUser(),
      newSubject(),
      newAddress(),
    ];
    await verify({ subject, email: ann.email, emailVerified: true }, address);
    const other = { issuer: 'https://other.example.com', subject };
    await verify({ ...other, email: ann.email, emailVerified: true }, address);
    await accounts.takeEmails();
    const identities = async () => (await accounts.users.getUser({ email: ann.email })).identities;
    expect(await identities()).toMatchObject([
      { issuer, subject, email: ann.email, clientAddress: address, linkTime: expect.anything() },
      other,
    ]);
    const unlink = (proof: object | undefined, context: Parameters<typeof accounts.users.unlinkIdentity>[1]) =>
      accounts.users.unlinkIdentity({ id: ann.id, issuer, ...(proof ? { proof } : {}) }, context);
    const wrong = { code: 'invalid_request', details: [{ field: 'password' }] };
    await expect(unlink(undefined, as(ann))).rejects.toMatchObject(wrong);
    await expect(unlink({ password: 'wrong' }, as(ann))).rejects.toMatchObject(wrong);
    await expect(unlink({ password: bob.password }, as(bob))).rejects.toMatchObject({ code: 'insufficient_role' });
    expect(await identities()).toHaveLength(2);

    const { user: before } = await accounts.users.getUser({ id: ann.id });
    const { user } = await unlink({ password: ann.password }, as(ann));
    // Sessions that began with the identity end.
    expect(user?.sessionGeneration).toBeGreaterThan(before?.sessionGeneration ?? 0n);
    expect(await verify({ subject })).toMatchObject({ outcome: REFUSED });
    expect(await verify(other)).toMatchObject({ outcome: SIGNED_IN });
    expect(await accounts.takeEmails()).toMatchObject([
      { to: ann.email, content: { value: { change: Change.IDENTITY_UNLINKED } } },
    ]);
    await expect(unlink({ password: ann.password }, as(ann))).rejects.toMatchObject({ code: 'not_found' });
    await accounts.users.unlinkIdentity({ email: ann.email, issuer: other.issuer });
    expect(await identities()).toEqual([]);
  });

  test.each([
    [{ issuer: '', subject: 'x' }, 'issuer'],
    [{ issuer: `https://${'x'.repeat(2_048)}`, subject: 'x' }, 'issuer'],
    [{ subject: '' }, 'subject'],
    [{ subject: 'x'.repeat(256) }, 'subject'],
  ])('%o is rejected', async (claims, field) => {
    await expect(verify(claims)).rejects.toMatchObject({ code: 'invalid_request', details: [{ field }] });
  });

  test('unknown identities are throttled by network', async () => {
    const address = newAddress();
    for (let i = 0; i < 50; i += 1) await verify({ subject: newSubject() }, address);
    // Makes the result independent of the attempts' duration.
    await accounts.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    await expect(verify({ subject: newSubject() }, address)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  });

  test('others at a shared address do not block a linked identity, unless its user is disabled', async () => {
    const ann = await accounts.newUser();
    const subject = newSubject();
    await verify({ subject, email: ann.email, emailVerified: true });
    const address = newAddress();
    for (let i = 0; i < 50; i += 1) await verify({ subject: newSubject() }, address);
    await accounts.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    expect(await verify({ subject }, address)).toMatchObject({ outcome: SIGNED_IN });
    await accounts.newUser({ workspaceId: ann.workspaceId });
    await accounts.users.setUserDisabled({ id: ann.id, disabled: true });
    await expect(verify({ subject }, address)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  });
});
