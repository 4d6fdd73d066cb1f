import { SecurityMail_Change as Change } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { as, from, newAddress, newEmail, type Person, startPeople, type TestPeople } from './people-support.ts';

const { SIGNED_IN, REFUSED } = SignInOutcome;
const good = 'a quiet lake in autumn';

describe('Passwords', () => {
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople();
  });
  beforeEach(async () => {
    await people.takeMails();
  });
  afterAll(() => people?.stop());

  const change = (who: Person, currentPassword: string, password: string) =>
    people.passwords.changePassword({ userId: who.id, currentPassword, password }, as(who, newAddress()));

  test('who knows the password chooses another one, which ends the other sessions', async () => {
    const ann = await people.person();
    const { user } = await change(ann, ann.password, good);
    expect(user).toMatchObject({ id: ann.id, sessionGeneration: 2n });
    expect(await people.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: REFUSED });
    expect(await people.tryPassword(ann.email, good)).toMatchObject({ outcome: SIGNED_IN });
    expect(await people.audited(ann.workspaceId, 'user.password_changed')).toMatchObject([
      { actor: `user:${ann.id}`, targetId: ann.id, by: 'self' },
    ]);
    expect(await people.takeMails()).toMatchObject([
      { to: ann.email, content: { case: 'security', value: { change: Change.PASSWORD_CHANGED } } },
    ]);
  });

  test('who does not know it is refused, and may guess no further than when signing in', async () => {
    const ann = await people.person();
    for (let i = 0; i < 10; i += 1) {
      await expect(change(ann, 'wrong password', good)).rejects.toMatchObject({
        code: 'invalid_request',
        details: [{ field: 'current_password' }],
      });
    }
    await expect(change(ann, ann.password, good)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    await expect(people.tryPassword(ann.email, ann.password)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  });

  test('of two changes at once one holds', async () => {
    const ann = await people.person();
    const others = ['the first of two changes', 'the second of two changes'];
    const results = await Promise.allSettled(others.map((password) => change(ann, ann.password, password)));
    const held = results.filter(({ status }) => status === 'fulfilled');
    expect(held).toHaveLength(1);
    const outcomes = [];
    for (const password of others) outcomes.push((await people.tryPassword(ann.email, password)).outcome);
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
  ])('%j may not be chosen', async (password) => {
    const ann = await people.person();
    await expect(change(ann, ann.password, password)).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'password' }],
    });
    expect(await people.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('nor may what is made of the address', async () => {
    const ann = await people.person({ email: `margarethe-${newEmail()}` });
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
  ])('%j may be chosen', async (password) => {
    const ann = await people.person();
    await change(ann, ann.password, password);
    expect(await people.tryPassword(ann.email, password)).toMatchObject({ outcome: SIGNED_IN });
  });
});

describe('Links to choose another password', () => {
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople();
  });
  beforeEach(async () => {
    await people.takeMails();
  });
  afterAll(() => people?.stop());

  const request = (email: string, address = newAddress()) =>
    people.passwords.requestPasswordReset({ email }, from(address));
  const linkFor = async (who: Person) => {
    await request(who.email.toUpperCase());
    const [mail, ...more] = await people.takeMails();
    expect(more).toEqual([]);
    if (mail?.content.case !== 'passwordReset') throw new Error('no mail with a link');
    expect(mail.to).toBe(who.email);
    return mail.content.value.token;
  };
  const reset = (token: string, password: string) =>
    people.passwords.resetPassword({ token, password }, from(newAddress()));

  test('the link of the mail works once, ends all sessions and the links beside it; it signs nobody in', async () => {
    const ann = await people.person();
    const [first, second] = [await linkFor(ann), await linkFor(ann)];
    const answer = await reset(first, good);
    expect(answer).toMatchObject({ user: { id: ann.id, sessionGeneration: 2n } });
    for (const token of [first, second]) {
      await expect(reset(token, 'yet another password')).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await people.tryPassword(ann.email, good)).toMatchObject({ outcome: SIGNED_IN });
    expect(await people.takeMails()).toMatchObject([
      { to: ann.email, content: { value: { change: Change.PASSWORD_CHANGED } } },
    ]);
    expect((await people.audited(ann.workspaceId)).slice(1, 4)).toMatchObject([
      { action: 'user.password_reset_requested', actor: 'anonymous' },
      { action: 'user.password_reset_requested', actor: 'anonymous' },
      { action: 'user.password_changed', actor: `user:${ann.id}`, by: 'link' },
    ]);
  });

  test('a new link does not spoil the one before', async () => {
    const ann = await people.person();
    const first = await linkFor(ann);
    await linkFor(ann);
    await reset(first, good);
  });

  test('of two who bring it at once one gets in', async () => {
    const ann = await people.person();
    const token = await linkFor(ann);
    const results = await Promise.allSettled([reset(token, good), reset(token, 'the other password')]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a password that may not be chosen uses nothing up', async () => {
    const ann = await people.person();
    const token = await linkFor(ann);
    await expect(reset(token, 'short')).rejects.toMatchObject({ details: [{ field: 'password' }] });
    await reset(token, good);
  });

  test('it ends after an hour, and where an operator or its user changes the password', async () => {
    const ann = await people.person();
    const late = await linkFor(ann);
    await people.db.query(`update auth.password_resets set expires_at = expires_at - interval '1 hour'`);
    await expect(reset(late, good)).rejects.toMatchObject({ code: 'not_found' });
    const beforeReset = await linkFor(ann);
    const { password } = await people.users.resetUser({ id: ann.id });
    await expect(reset(beforeReset, good)).rejects.toMatchObject({ code: 'not_found' });
    const beforeChange = await linkFor(ann);
    await people.passwords.changePassword({ userId: ann.id, currentPassword: password, password: good }, as(ann));
    await expect(reset(beforeChange, 'yet another password')).rejects.toMatchObject({ code: 'not_found' });
  });

  test.each(['', 'x', 'A'.repeat(43), '\u0000'])('the token %j is none', async (token) => {
    await expect(reset(token, good)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('an address without an account gets the same answer and no mail', async () => {
    const ann = await people.person();
    const known = await request(ann.email);
    const unknown = await request(newEmail());
    expect(unknown).toEqual(known);
    expect(await request('no address\r\n')).toEqual(known);
    expect((await people.takeMails()).map(({ to }) => to)).toEqual([ann.email]);
    const { rows } = await people.db.query('select * from auth.password_resets where user_id <> $1', [ann.id]);
    expect(rows.every(({ user_id }) => user_id !== '')).toBe(true);
  });

  test.each([
    ['an account', async () => (await people.person()).email],
    ['nobody', async () => newEmail()],
  ])('%s is sent three, then one every twenty minutes', async (_, make) => {
    const email = await make();
    for (let i = 0; i < 3; i += 1) await request(email);
    const error = await request(email.toUpperCase()).catch((error) => error);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(error.retryAfterSeconds).toBeGreaterThan(1_100);
  });

  test('from one address twenty are sent', async () => {
    const address = newAddress();
    for (let i = 0; i < 20; i += 1) await request(newEmail(), address);
    await expect(request(newEmail(), address)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  });

  test('the token is nowhere at rest: what is stored are its hash and a sealed mail', async () => {
    const ann = await people.person();
    await request(ann.email);
    const { rows } = await people.db.query<{ row: string }>(
      `select t::text as row from auth.password_resets as t union all select t::text from auth.mail_requests as t
        union all select t::text from audit.entries as t`,
    );
    const token = (await people.takeMails()).flatMap(({ content }) =>
      content.case === 'passwordReset' ? [content.value.token] : [],
    )[0];
    const everything = JSON.stringify([rows, people.logged]);
    for (const form of [token ?? '', Buffer.from(token ?? '').toString('hex')]) {
      expect(form).not.toBe('');
      expect(everything).not.toContain(form);
    }
  });
});
