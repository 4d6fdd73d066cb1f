import { SecurityMail_Change as Change } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { as, authenticator, from, newEmail, type Person, startPeople, type TestPeople } from './people-support.ts';

describe("One's own e-mail address", () => {
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople();
  });
  afterAll(() => people?.stop());
  beforeEach(() => people.takeMails());

  const request = (person: Person, email: string, proof: object = { password: person.password }) =>
    people.users.requestEmailChange({ id: person.id, email, proof }, as(person));
  const confirm = (token: string) => people.users.confirmEmailChange({ token }, from('192.0.2.8'));
  /** The token of the one mail that waits, which went there. */
  const tokenMailedTo = async (email: string) => {
    const [mail, ...others] = await people.takeMails();
    expect([mail?.to, others]).toEqual([email, []]);
    return mail?.content.case === 'emailChange' ? mail.content.value.token : '';
  };
  const outcomeOf = async (email: string, password: string) => (await people.tryPassword(email, password)).outcome;

  test('changes when the link in a mail to the new one is followed: the old one is told, sessions end', async () => {
    const person = await people.person();
    const email = `New.${newEmail()}`;
    await request(person, ` ${email} `);
    const token = await tokenMailedTo(email);
    // Nothing has changed yet.
    expect(await outcomeOf(person.email, person.password)).toBe(SignInOutcome.SIGNED_IN);
    expect(await outcomeOf(email, person.password)).toBe(SignInOutcome.REFUSED);

    const { user } = await confirm(token);
    expect(user).toMatchObject({ id: person.id, email, sessionGeneration: 2n });
    const session = { userId: person.id, sessionGeneration: 1n };
    expect(await people.signIn.checkSession(session)).toMatchObject({ valid: false });
    expect(await outcomeOf(person.email, person.password)).toBe(SignInOutcome.REFUSED);
    expect(await outcomeOf(email.toLowerCase(), person.password)).toBe(SignInOutcome.SIGNED_IN);
    expect(await people.takeMails()).toMatchObject([
      {
        to: person.email,
        content: { case: 'security', value: { change: Change.EMAIL_CHANGED, address: '192.0.2.8' } },
      },
    ]);
    await expect(confirm(token)).rejects.toMatchObject({ code: 'not_found' });
    const entries = await people.audited(person.workspaceId);
    const by = { actor: `user:${person.id}`, targetId: person.id };
    expect(entries.filter(({ action }) => action.includes('email'))).toEqual([
      { action: 'user.email_change_requested', ...by, to: email },
      { action: 'user.email_changed', ...by, from: person.email, to: email },
    ]);
    const stored = JSON.stringify((await people.db.query('select * from auth.email_changes')).rows);
    expect(stored).not.toContain(token);
  });

  test('is asked for with the password, which is throttled; who has a second factor gives a code instead', async () => {
    const person = await people.person();
    const refused = { code: 'invalid_request', details: [{ field: 'password', message: 'is wrong' }] };
    await expect(request(person, newEmail(), { password: 'wrong' })).rejects.toMatchObject(refused);
    await expect(request(person, newEmail(), {})).rejects.toMatchObject(refused);
    await expect(request(person, person.email)).rejects.toMatchObject({
      details: [{ field: 'email', message: 'is your address already' }],
    });
    await expect(request(person, 'a@b@c')).rejects.toMatchObject({ code: 'invalid_request' });

    const { secret } = await people.secondFactors.beginSecondFactor(
      { userId: person.id, password: person.password },
      as(person),
    );
    const device = authenticator(secret);
    await people.secondFactors.confirmSecondFactor({ userId: person.id, code: device.at(Date.now()) }, as(person));
    await people.takeMails();
    const email = newEmail();
    await expect(request(person, email)).rejects.toMatchObject({ details: [{ field: 'code' }] });
    await request(person, email, { code: device.at(Date.now() + 30_000) });
    expect((await confirm(await tokenMailedTo(email))).user?.email).toBe(email);
  });

  test('of somebody else gets no mail, and the answer does not tell; one that was taken meanwhile stays theirs', async () => {
    const [person, other] = [await people.person(), await people.person()];
    expect(await request(person, other.email.toUpperCase())).toEqual(await request(other, newEmail()));
    expect((await people.takeMails()).map(({ to }) => to)).not.toContain(other.email.toUpperCase());

    const email = newEmail();
    await request(person, email);
    const token = await tokenMailedTo(email);
    await people.person({ email });
    await expect(confirm(token)).rejects.toMatchObject({ code: 'not_found' });
    expect((await people.users.getUser({ id: person.id })).user?.email).toBe(person.email);
  });

  test('cannot be changed for somebody else, by a link that has run out, or after a newer change', async () => {
    const [person, other] = [await people.person(), await people.person()];
    const forOther = { id: other.id, email: newEmail(), proof: { password: other.password } };
    await expect(people.users.requestEmailChange(forOther, as(person))).rejects.toMatchObject({
      code: 'insufficient_role',
    });
    const [first, second, third] = [newEmail(), newEmail(), newEmail()];
    await request(person, first);
    const firstToken = await tokenMailedTo(first);
    await request(person, second);
    await confirm(await tokenMailedTo(second));
    await expect(confirm(firstToken)).rejects.toMatchObject({ code: 'not_found' });
    await people.takeMails();
    await request(person, third);
    const late = await tokenMailedTo(third);
    await people.db.query(`update auth.email_changes set expires_at = now() - interval '1 second'`);
    await expect(confirm(late)).rejects.toMatchObject({ code: 'not_found' });
    await expect(confirm('')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('links to choose a password that went to the old address are void', async () => {
    const person = await people.person();
    await people.passwords.requestPasswordReset({ email: person.email }, from('192.0.2.9'));
    const [reset] = await people.takeMails();
    const token = reset?.content.case === 'passwordReset' ? reset.content.value.token : '';
    const email = newEmail();
    await request(person, email);
    await confirm(await tokenMailedTo(email));
    const attempt = people.passwords.resetPassword({ token, password: 'quite another secret' }, from('192.0.2.9'));
    await expect(attempt).rejects.toMatchObject({ code: 'not_found' });
  });
});
