import { SecurityEmail_Change as Change } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { perSuite } from '@rms/testkit';
import { as, from, newEmail, startAccounts, type TestUser, tokenIn } from '../user-support.ts';

describe("Changing one's own email address", () => {
  const accounts = perSuite(startAccounts);
  beforeEach(() => accounts.takeEmails());

  const request = (account: TestUser, email: string, proof: object = { password: account.password }) =>
    accounts.users.requestEmailChange({ id: account.id, email, proof }, as(account));
  const confirm = (token: string) => accounts.users.confirmEmailChange({ token }, from('192.0.2.8'));
  /**
   * Returns the token in the email queued for `email`. The only other queued email must be the notice to the current
   * address.
   */
  const tokenEmailedTo = async (email: string) => {
    const [sent, notice, ...others] = await accounts.takeEmails();
    expect([sent?.to, others]).toEqual([email, []]);
    expect(notice?.content).toMatchObject({ case: 'security', value: { change: Change.EMAIL_CHANGE_REQUESTED } });
    return tokenIn(sent);
  };
  const outcomeOf = async (email: string, password: string) => (await accounts.tryPassword(email, password)).outcome;

  test('takes effect when the link sent to the new address is opened; the old address is notified and all sessions end', async () => {
    const account = await accounts.newUser();
    const email = `New.${newEmail()}`;
    await request(account, ` ${email} `);
    const token = await tokenEmailedTo(email);
    // The request alone changes nothing.
    expect(await outcomeOf(account.email, account.password)).toBe(SignInOutcome.SIGNED_IN);
    expect(await outcomeOf(email, account.password)).toBe(SignInOutcome.REFUSED);

    const { user } = await confirm(token);
    expect(user).toMatchObject({ id: account.id, email, sessionGeneration: 2n });
    const session = { userId: account.id, sessionGeneration: 1n };
    expect(await accounts.signIn.checkSession(session)).toMatchObject({ valid: false });
    expect(await outcomeOf(account.email, account.password)).toBe(SignInOutcome.REFUSED);
    expect(await outcomeOf(email.toLowerCase(), account.password)).toBe(SignInOutcome.SIGNED_IN);
    expect(await accounts.takeEmails()).toMatchObject([
      {
        to: account.email,
        content: { case: 'security', value: { change: Change.EMAIL_CHANGED, address: '192.0.2.8' } },
      },
    ]);
    await expect(confirm(token)).rejects.toMatchObject({ code: 'not_found' });
    const entries = await accounts.audited(account.workspaceId);
    const by = { actor: `user:${account.id}`, targetId: account.id };
    expect(entries.filter(({ action }) => action.includes('email'))).toEqual([
      { action: 'user.email_change_requested', ...by, to: email },
      { action: 'user.email_changed', ...by, email },
    ]);
    const stored = JSON.stringify((await accounts.db.query('select * from auth.email_changes')).rows);
    expect(stored).not.toContain(token);
  });

  test('is reported to the current address, without the link, even if the new address is in use', async () => {
    const [account, other] = [await accounts.newUser(), await accounts.newUser()];
    const email = newEmail();
    await request(account, email);
    const [link, notice, ...others] = await accounts.takeEmails();
    expect(notice).toMatchObject({
      to: account.email,
      content: { case: 'security', value: { change: Change.EMAIL_CHANGE_REQUESTED, address: '192.0.2.7' } },
    });
    expect([link?.to, others]).toEqual([email, []]);
    const token = tokenIn(link);
    expect(token).not.toBe('');
    expect(Object.values(notice?.content.value ?? {})).not.toContain(token);

    await request(account, other.email);
    expect(await accounts.takeEmails()).toMatchObject([
      { to: account.email, content: { value: { change: Change.EMAIL_CHANGE_REQUESTED } } },
    ]);
  });

  test('requires the password, with throttling, or a code if a second factor is enabled', async () => {
    const account = await accounts.newUser();
    const refused = { code: 'invalid_request', details: [{ field: 'password', message: 'is wrong' }] };
    await expect(request(account, newEmail(), { password: 'wrong' })).rejects.toMatchObject(refused);
    await expect(request(account, newEmail(), {})).rejects.toMatchObject(refused);
    await expect(request(account, account.email)).rejects.toMatchObject({
      details: [{ field: 'email', message: 'is already your address' }],
    });
    await expect(request(account, 'a@b@c')).rejects.toMatchObject({ code: 'invalid_request' });

    const { device } = await accounts.enroll(account);
    await accounts.takeEmails();
    const email = newEmail();
    await expect(request(account, email)).rejects.toMatchObject({ details: [{ field: 'code' }] });
    await request(account, email, { code: device.at(Date.now() + 30_000) });
    expect((await confirm(await tokenEmailedTo(email))).user?.email).toBe(email);
  });

  test('to an address in use sends no email and gives the same response; an address taken in the meantime stays with its user', async () => {
    const [account, other] = [await accounts.newUser(), await accounts.newUser()];
    expect(await request(account, other.email.toUpperCase())).toEqual(await request(other, newEmail()));
    expect((await accounts.takeEmails()).map(({ to }) => to)).not.toContain(other.email.toUpperCase());

    const email = newEmail();
    await request(account, email);
    const token = await tokenEmailedTo(email);
    await accounts.newUser({ email });
    await expect(confirm(token)).rejects.toMatchObject({ code: 'not_found' });
    expect((await accounts.users.getUser({ id: account.id })).user?.email).toBe(account.email);
  });

  test('fails for another user, with an expired link, and after a newer change', async () => {
    const [account, other] = [await accounts.newUser(), await accounts.newUser()];
    const forOther = { id: other.id, email: newEmail(), proof: { password: other.password } };
    await expect(accounts.users.requestEmailChange(forOther, as(account))).rejects.toMatchObject({
      code: 'insufficient_role',
    });
    const [first, second, third] = [newEmail(), newEmail(), newEmail()];
    await request(account, first);
    const firstToken = await tokenEmailedTo(first);
    await request(account, second);
    await confirm(await tokenEmailedTo(second));
    await expect(confirm(firstToken)).rejects.toMatchObject({ code: 'not_found' });
    await accounts.takeEmails();
    await request(account, third);
    const late = await tokenEmailedTo(third);
    await accounts.db.query(`update auth.email_changes set expires_at = now() - interval '1 second'`);
    await expect(confirm(late)).rejects.toMatchObject({ code: 'not_found' });
    await expect(confirm('')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('invalidates password reset links that were sent to the old address', async () => {
    const account = await accounts.newUser();
    await accounts.passwords.requestPasswordReset({ email: account.email }, from('192.0.2.9'));
    const [reset] = await accounts.takeEmails();
    const token = tokenIn(reset);
    const email = newEmail();
    await request(account, email);
    await confirm(await tokenEmailedTo(email));
    const attempt = accounts.passwords.resetPassword({ token, password: 'quite another secret' }, from('192.0.2.9'));
    await expect(attempt).rejects.toMatchObject({ code: 'not_found' });
  });
});
