import { SecurityMail_Change as Change } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { TOTP } from 'otpauth';
import { as, from, newAddress, newEmail, startPeople, type TestPeople } from './people-support.ts';

const { SIGNED_IN, REFUSED, SECOND_FACTOR_REQUIRED } = SignInOutcome;
const issuer = 'https://id.example.com';

describe('Signing in by an identity', () => {
  let people: TestPeople;
  let subjects = 0;
  beforeAll(async () => {
    people = await startPeople();
  });
  beforeEach(async () => {
    await people.takeMails();
  });
  afterAll(() => people?.stop());

  const newSubject = () => {
    subjects += 1;
    return `subject-${subjects}`;
  };
  const verify = async (claims: object, address = newAddress()) => {
    const { result } = await people.signIn.verifyIdentity({ issuer, ...claims }, from(address));
    return result;
  };

  test('a verified address links it once; from then on the subject counts, whatever the address', async () => {
    const ann = await people.person();
    const subject = newSubject();
    expect(await verify({ subject, email: ann.email.toUpperCase(), emailVerified: true })).toMatchObject({
      outcome: SIGNED_IN,
      user: { id: ann.id },
      memberships: [{ workspaceId: ann.workspaceId }],
    });
    expect(await verify({ subject, email: newEmail(), emailVerified: true })).toMatchObject({ user: { id: ann.id } });
    expect(await verify({ subject })).toMatchObject({ user: { id: ann.id } });
    expect((await people.users.getUser({ id: ann.id })).identities).toMatchObject([{ issuer, subject }]);
    expect(await people.takeMails()).toMatchObject([
      { to: ann.email, content: { value: { change: Change.IDENTITY_LINKED } } },
    ]);
    expect((await people.audited(ann.workspaceId)).slice(1, 3)).toMatchObject([
      { action: 'user.identity_linked', issuer, subject },
      { action: 'user.signed_in', method: 'identity' },
    ]);
  });

  test('an address that is not verified, or is nobody\u2019s, links nothing', async () => {
    const ann = await people.person();
    for (const claims of [
      { email: ann.email },
      { email: ann.email, emailVerified: false },
      { email: newEmail(), emailVerified: true },
      { email: '', emailVerified: true },
      { emailVerified: true },
    ]) {
      const result = await verify({ subject: newSubject(), ...claims });
      expect({ ...result, $typeName: '' }).toEqual({ $typeName: '', outcome: REFUSED, memberships: [], challenge: '' });
    }
    expect((await people.users.getUser({ id: ann.id })).identities).toEqual([]);
  });

  test('an address that the provider gives to somebody else later does not bring the account', async () => {
    const ann = await people.person();
    await verify({ subject: newSubject(), email: ann.email, emailVerified: true });
    expect(await verify({ subject: newSubject(), email: ann.email, emailVerified: true })).toMatchObject({
      outcome: REFUSED,
    });
  });

  test('of two subjects that come first at once one is linked', async () => {
    const ann = await people.person();
    const results = await Promise.all(
      [newSubject(), newSubject()].map((subject) => verify({ subject, email: ann.email, emailVerified: true })),
    );
    expect(results.map((result) => result?.outcome).sort()).toEqual([SIGNED_IN, REFUSED].sort());
    expect((await people.users.getUser({ id: ann.id })).identities).toHaveLength(1);
  });

  test('subjects are of one provider each', async () => {
    const [ann, subject] = [await people.person(), newSubject()];
    await verify({ subject, email: ann.email, emailVerified: true });
    expect(await verify({ issuer: 'https://other.example.com', subject })).toMatchObject({ outcome: REFUSED });
    expect(
      await verify({ issuer: 'https://other.example.com', subject, email: ann.email, emailVerified: true }),
    ).toMatchObject({ outcome: SIGNED_IN });
  });

  test('the second factor is asked for here as well', async () => {
    const [ann, subject] = [await people.person(), newSubject()];
    const { uri } = await people.secondFactors.beginSecondFactor({ userId: ann.id, password: ann.password }, as(ann));
    const secret = new URL(uri).searchParams.get('secret') ?? '';
    const code = new TOTP({ secret }).generate();
    await people.secondFactors.confirmSecondFactor({ userId: ann.id, code }, as(ann));
    const first = await verify({ subject, email: ann.email, emailVerified: true });
    expect(first).toMatchObject({ outcome: SECOND_FACTOR_REQUIRED, memberships: [] });
    await people.db.query('update auth.users set second_factor_step = 0');
    const { result } = await people.signIn.verifySecondFactor({ challenge: first?.challenge ?? '', code });
    expect(result).toMatchObject({ outcome: SIGNED_IN });
    expect((await people.audited(ann.workspaceId)).at(-1)).toMatchObject({
      method: 'identity',
      second_factor: 'authenticator',
    });
  });

  test('an invitation is accepted by an identity: a user without a password, who sets one by a link', async () => {
    const [owner, email, subject] = [await people.person(), newEmail(), newSubject()];
    const linkTo = async (to: string) => {
      await people.invitations.createInvitation({ workspaceId: owner.workspaceId, email: to, role: Role.VIEWER });
      const content = (await people.takeMails()).at(-1)?.content;
      return content?.case === 'invitation' ? content.value.token : '';
    };
    const accept = (token: string, subject: string) =>
      people.invitations.acceptInvitation(
        { token, as: { case: 'newIdentity', value: { issuer, subject, name: 'Ann' } } },
        from(newAddress()),
      );
    const { result } = await accept(await linkTo(email), subject);
    expect(result).toMatchObject({ outcome: SIGNED_IN, user: { email, name: 'Ann', hasPassword: false } });
    const ann = { id: result?.user?.id ?? '' };
    expect(await verify({ subject })).toMatchObject({ outcome: SIGNED_IN, user: ann });
    expect(await people.tryPassword(email, '')).toMatchObject({ outcome: REFUSED });
    const password = 'a quiet lake in autumn';
    await expect(
      people.passwords.changePassword({ userId: ann.id, currentPassword: '', password }, as(ann)),
    ).rejects.toMatchObject({ code: 'conflict' });
    await people.passwords.requestPasswordReset({ email }, from(newAddress()));
    const content = (await people.takeMails()).at(-1)?.content;
    const token = content?.case === 'passwordReset' ? content.value.token : '';
    await people.passwords.resetPassword({ token, password }, from(newAddress()));
    expect(await people.tryPassword(email, password)).toMatchObject({ outcome: SIGNED_IN, user: ann });
    // Neither a known identity nor a known address is taken over.
    const other = await linkTo(newEmail());
    await expect(accept(other, subject)).rejects.toMatchObject({ code: 'conflict' });
    await expect(accept(other, '')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(accept(await linkTo((await people.person()).email), newSubject())).rejects.toMatchObject({
      code: 'conflict',
    });
    await accept(other, newSubject());
  });

  test.each([
    [{ issuer: '', subject: 'x' }, 'issuer'],
    [{ issuer: `https://${'x'.repeat(2_048)}`, subject: 'x' }, 'issuer'],
    [{ subject: '' }, 'subject'],
    [{ subject: 'x'.repeat(256) }, 'subject'],
  ])('%o is refused', async (claims, field) => {
    await expect(verify(claims)).rejects.toMatchObject({ code: 'invalid_request', details: [{ field }] });
  });

  test('unknown ones are throttled by address', async () => {
    const address = newAddress();
    for (let i = 0; i < 50; i += 1) await verify({ subject: newSubject() }, address);
    await expect(verify({ subject: newSubject() }, address)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  });
});
