import { SecurityEmail_Change as Change } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { perSuite } from '@rms/testkit';
import { as, from, newAddress, newEmail, startAccounts, type TestUser, tokenIn } from '../user-support.ts';

const { SIGNED_IN, REFUSED } = SignInOutcome;
const good = 'a quiet lake in autumn';

const accounts = perSuite(startAccounts);
beforeEach(() => accounts.takeEmails());

describe('Passwords', () => {
  const change = (account: TestUser, currentPassword: string, password: string) =>
    accounts.passwords.changePassword({ userId: account.id, currentPassword, password }, as(account, newAddress()));

  test('a user who knows the password can change it, which ends the other sessions', async () => {
    const ann = await accounts.newUser();
    const { user } = await change(ann, ann.password, good);
    expect(user).toMatchObject({ id: ann.id, sessionGeneration: 2n });
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: REFUSED });
    expect(await accounts.tryPassword(ann.email, good)).toMatchObject({ outcome: SIGNED_IN });
    expect(await accounts.audited(ann.workspaceId, 'user.password_changed')).toMatchObject([
      { actor: `user:${ann.id}`, targetId: ann.id, by: 'self' },
    ]);
    expect(await accounts.takeEmails()).toMatchObject([
      { to: ann.email, content: { case: 'security', value: { change: Change.PASSWORD_CHANGED } } },
    ]);
  });

  test('a wrong current password is rejected and throttled like a sign-in', async () => {
    const ann = await accounts.newUser();
    for (let i = 0; i < 10; i += 1) {
      await expect(change(ann, 'wrong password', good)).rejects.toMatchObject({
        code: 'invalid_request',
        details: [{ field: 'current_password' }],
      });
    }
    await expect(change(ann, ann.password, good)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    await expect(accounts.tryPassword(ann.email, ann.password)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  });

  test('changes are limited, because each sends an email', async () => {
    const ann = await accounts.newUser();
    let current = ann.password;
    for (let i = 0; i < 20; i += 1) {
      const next = `${good} ${i}`;
      await change(ann, current, next);
      current = next;
    }
    const more = change(ann, current, good);
    await expect(more).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringMatching(/changed too often\. /),
    });
    expect(await accounts.takeEmails()).toHaveLength(20);
    expect(await accounts.tryPassword(ann.email, current)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('of two concurrent changes, one succeeds', async () => {
    const ann = await accounts.newUser();
    const others = ['the first of two changes', 'the second of two changes'];
    const results = await Promise.allSettled(others.map((password) => change(ann, ann.password, password)));
    const held = results.filter(({ status }) => status === 'fulfilled');
    expect(held).toHaveLength(1);
    const outcomes = [];
    for (const password of others) outcomes.push((await accounts.tryPassword(ann.email, password)).outcome);
    expect(outcomes.sort()).toEqual([SIGNED_IN, REFUSED].sort());
  });

  test.each([
    ...['', 'short', 'eleven char', 'x'.repeat(257), 'aaaaaaaaaaaa', 'abcabcabcabcabc', '123456789012', '098765432109'],
    ...[
      'abcdefghijkl',
      'Password1234',
      'passwordpassword',
      'P@ssw0rd!!!!!!',
      'correct horse battery staple',
      '834719263504',
    ],
    ...['qwertyuiop[]', 'iloveyou!!!!!', 'Welcome 2026!'],
  ])('%j is rejected', async (password) => {
    const ann = await accounts.newUser();
    await expect(change(ann, ann.password, password)).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'password' }],
    });
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('passwords derived from the email address are rejected', async () => {
    const ann = await accounts.newUser({ email: `margarethe-${newEmail()}` });
    for (const password of [ann.email, ann.email.toUpperCase(), `${ann.email.split('@')[0]}123`]) {
      await expect(change(ann, ann.password, password)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  test.each([
    'twelve chars',
    'правильная лошадь',
    '正確馬電池訂書針蘋果香蕉橘子',
    '🐎🔋📎🐎🔋📎🍎🍌🍊🥝🍇🍉',
    'x7!Kp#2qLm9$',
  ])('%j is accepted', async (password) => {
    const ann = await accounts.newUser();
    await change(ann, ann.password, password);
    expect(await accounts.tryPassword(ann.email, password)).toMatchObject({ outcome: SIGNED_IN });
  });
});

describe('Password reset links', () => {
  const request = (email: string, address = newAddress()) =>
    accounts.passwords.requestPasswordReset({ email }, from(address));
  const linkFor = async (account: TestUser) => {
    await request(account.email.toUpperCase());
    const [email, ...more] = await accounts.takeEmails();
    expect(more).toEqual([]);
    if (email?.content.case !== 'passwordReset') throw new Error('no email with a link');
    expect(email.to).toBe(account.email);
    return email.content.value.token;
  };
  const reset = (token: string, password: string) =>
    accounts.passwords.resetPassword({ token, password }, from(newAddress()));

  test('a link works once, ends all sessions and invalidates other links; it does not sign the user in', async () => {
    const ann = await accounts.newUser();
    const [first, second] = [await linkFor(ann), await linkFor(ann)];
    const response = await reset(first, good);
    expect(response).toMatchObject({ user: { id: ann.id, sessionGeneration: 2n } });
    for (const token of [first, second]) {
      await expect(reset(token, 'yet another password')).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await accounts.tryPassword(ann.email, good)).toMatchObject({ outcome: SIGNED_IN });
    expect(await accounts.takeEmails()).toMatchObject([
      { to: ann.email, content: { value: { change: Change.PASSWORD_CHANGED } } },
    ]);
    expect((await accounts.audited(ann.workspaceId)).slice(1, 4)).toMatchObject([
      { action: 'user.password_reset_requested', actor: 'anonymous' },
      { action: 'user.password_reset_requested', actor: 'anonymous' },
      { action: 'user.password_changed', actor: `user:${ann.id}`, by: 'link' },
    ]);
  });

  test('a request for an unknown address leaves no audit entry', async () => {
    const count = async () => (await accounts.db.query('select from audit.entries')).rowCount;
    const before = await count();
    await request('unknown@example.com');
    expect(await count()).toBe(before);
    await linkFor(await accounts.newUser());
    expect(await count()).toBeGreaterThan(before ?? 0);
  });

  test('a new link does not invalidate the previous one', async () => {
    const ann = await accounts.newUser();
    const first = await linkFor(ann);
    await linkFor(ann);
    await reset(first, good);
  });

  test('of two concurrent calls with the same link, one succeeds', async () => {
    const ann = await accounts.newUser();
    const token = await linkFor(ann);
    const results = await Promise.allSettled([reset(token, good), reset(token, 'the other password')]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a rejected password does not use up the link', async () => {
    const ann = await accounts.newUser();
    const token = await linkFor(ann);
    await expect(reset(token, 'short')).rejects.toMatchObject({ details: [{ field: 'password' }] });
    await reset(token, good);
  });

  test('a link expires after an hour, and when an operator or the user changes the password', async () => {
    const ann = await accounts.newUser();
    const late = await linkFor(ann);
    await accounts.db.query(`update auth.password_resets set expires_at = expires_at - interval '1 hour 1 second'`);
    await expect(reset(late, good)).rejects.toMatchObject({ code: 'not_found' });
    const beforeReset = await linkFor(ann);
    const { password } = await accounts.users.resetUser({ id: ann.id });
    await expect(reset(beforeReset, good)).rejects.toMatchObject({ code: 'not_found' });
    const beforeChange = await linkFor(ann);
    await accounts.passwords.changePassword({ userId: ann.id, currentPassword: password, password: good }, as(ann));
    await expect(reset(beforeChange, 'yet another password')).rejects.toMatchObject({ code: 'not_found' });
  });

  test.each(['', 'x', 'A'.repeat(43), '\u0000'])('the token %j is invalid', async (token) => {
    await expect(reset(token, good)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('an address without an account gets the same response and no email', async () => {
    const ann = await accounts.newUser();
    const known = await request(ann.email);
    const unknown = await request(newEmail());
    expect(unknown).toEqual(known);
    expect(await request('no address\r\n')).toEqual(known);
    expect((await accounts.takeEmails()).map(({ to }) => to)).toEqual([ann.email]);
    const { rows } = await accounts.db.query('select * from auth.password_resets where user_id <> $1', [ann.id]);
    expect(rows.every(({ user_id }) => user_id !== '')).toBe(true);
  });

  test.each([
    ['an account', async () => (await accounts.newUser()).email],
    ['an unknown address', async () => newEmail()],
  ])('%s gets three links in a row, then one every twenty minutes', async (_, make) => {
    const email = await make();
    for (let i = 0; i < 3; i += 1) await request(email);
    const error = await request(email.toUpperCase()).catch((error) => error);
    expect(error).toMatchObject({
      code: 'rate_limit_exceeded',
      message: 'Too many emails to this address were requested. Try again in 20 minutes.',
    });
    expect(error.retryAfterSeconds).toBeGreaterThan(1_140);
  });

  test('a client network can request twenty links in a row', async () => {
    const address = newAddress();
    for (let i = 0; i < 20; i += 1) await request(newEmail(), address);
    // Makes the result independent of the requests' duration.
    await accounts.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    await expect(request(newEmail(), address)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  });

  test('the token is stored only as a hash and in an encrypted email', async () => {
    const ann = await accounts.newUser();
    await request(ann.email);
    const { rows } = await accounts.db.query<{ row: string }>(
      `select t::text as row from auth.password_resets as t union all select t::text from auth.email_requests as t
        union all select t::text from audit.entries as t`,
    );
    const token = tokenIn((await accounts.takeEmails()).find(({ content }) => content.case === 'passwordReset'));
    const everything = JSON.stringify([rows, accounts.logged]);
    for (const form of [token ?? '', Buffer.from(token ?? '').toString('hex')]) {
      expect(form).not.toBe('');
      expect(everything).not.toContain(form);
    }
  });
});
