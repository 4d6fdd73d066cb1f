import { SecurityEmail_Change as Change } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { perSuite } from '@rms/testkit';
import { as, authenticator, from, newAddress, newEmail, startAccounts, type TestUser } from '../user-support.ts';

const { SIGNED_IN, REFUSED, SECOND_FACTOR_REQUIRED } = SignInOutcome;
const periodMs = 30_000;

describe('The second factor', () => {
  const accounts = perSuite(startAccounts);
  beforeEach(() => accounts.takeEmails());

  /** Resets the last used time step, so that the current code is accepted again. */
  const forgetSteps = () => accounts.db.query('update auth.users set second_factor_step = 0');
  const enrol = async (account: TestUser) => {
    const enrolled = await accounts.enroll(account);
    await forgetSteps();
    return enrolled;
  };
  const challengeOf = async (account: TestUser, address = newAddress()) => {
    const { outcome, challenge, challengeUserId, user } = await accounts.tryPassword(
      account.email,
      account.password,
      address,
    );
    expect([outcome, challengeUserId, user]).toEqual([SECOND_FACTOR_REQUIRED, account.id, undefined]);
    return challenge;
  };
  const second = (challenge: string, code: string, address = newAddress()) =>
    accounts.signIn.verifySecondFactor({ challenge, code }, from(address));

  test('is enabled by a code and then required for sign-in', async () => {
    const ann = await accounts.newUser();
    const started = await accounts.secondFactors.beginSecondFactor({ userId: ann.id, password: ann.password }, as(ann));
    expect(started.secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(started.uri).toContain(`secret=${started.secret}`);
    expect(decodeURIComponent(started.uri)).toMatch(`otpauth://totp/rms:${ann.email}?`);
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
    const code = authenticator(started.secret).at(Date.now());
    const { user, recoveryCodes } = await accounts.secondFactors.confirmSecondFactor({ userId: ann.id, code }, as(ann));
    expect(user).toMatchObject({ hasSecondFactor: true, sessionGeneration: 2n });
    expect(new Set(recoveryCodes).size).toBe(10);
    for (const one of recoveryCodes) expect(one).toMatch(/^([a-km-z2-9]{4}-){3}[a-km-z2-9]{4}$/);
    const challenge = await challengeOf(ann);
    await forgetSteps();
    const { result } = await second(challenge, ` ${code.slice(0, 3)} ${code.slice(3)} `);
    expect(result).toMatchObject({ outcome: SIGNED_IN, user: { id: ann.id } });
    expect(await accounts.audited(ann.workspaceId)).toMatchObject([
      { action: 'user.created' },
      { action: 'user.signed_in', method: 'password' },
      { action: 'user.second_factor_enabled', actor: `user:${ann.id}` },
      { action: 'user.signed_in', method: 'password', second_factor: 'authenticator' },
    ]);
    expect(await accounts.takeEmails()).toMatchObject([
      { to: ann.email, content: { value: { change: Change.SECOND_FACTOR_ENABLED } } },
    ]);
  });

  test('a code works once, also with concurrent sign-ins, and invalidates earlier codes', async () => {
    const ann = await accounts.newUser();
    const { device } = await enrol(ann);
    const nowMs = Date.now();
    const [before, now] = [device.at(nowMs - periodMs), device.at(nowMs)];
    const results = await Promise.all(
      [await challengeOf(ann), await challengeOf(ann), await challengeOf(ann)].map((challenge) =>
        second(challenge, now),
      ),
    );
    expect(results.map(({ result }) => result?.outcome).sort()).toEqual([SIGNED_IN, REFUSED, REFUSED].sort());
    for (const code of [now, before]) {
      expect((await second(await challengeOf(ann), code)).result).toMatchObject({ outcome: REFUSED });
    }
  });

  test('the code that confirms the setup is used up', async () => {
    const ann = await accounts.newUser();
    const { code } = await accounts.enroll(ann);
    expect((await second(await challengeOf(ann), code)).result).toMatchObject({ outcome: REFUSED });
  });

  test('a recovery code works once, in any notation, and its user is notified', async () => {
    const ann = await accounts.newUser();
    const { recoveryCodes } = await enrol(ann);
    await accounts.takeEmails();
    const [code = '', other = ''] = recoveryCodes;
    const used = await second(await challengeOf(ann), code.toUpperCase().replaceAll('-', ' '));
    expect(used).toMatchObject({ result: { outcome: SIGNED_IN }, recoveryCodesRemaining: 9 });
    expect((await second(await challengeOf(ann), code)).result).toMatchObject({ outcome: REFUSED });
    expect(await second(await challengeOf(ann), other)).toMatchObject({ recoveryCodesRemaining: 8 });
    expect((await accounts.takeEmails()).map(({ content }) => content.value)).toMatchObject([
      { change: Change.RECOVERY_CODE_USED },
      { change: Change.RECOVERY_CODE_USED },
    ]);
    expect(await accounts.secondFactors.getSecondFactor({ userId: ann.id }, as(ann))).toMatchObject({
      enabled: true,
      recoveryCodesRemaining: 8,
    });
  });

  test('five wrong codes are allowed, also concurrently, then attempts are throttled; failures are audited', async () => {
    const ann = await accounts.newUser();
    const { device } = await enrol(ann);
    const challenge = await challengeOf(ann);
    const right = device.at(Date.now());
    const wrong = right === '000000' ? '000001' : '000000';
    const all = await Promise.all(
      Array.from({ length: 8 }, () =>
        second(challenge, wrong).then(
          ({ result }) => result?.outcome,
          ({ code }) => code,
        ),
      ),
    );
    expect(all.filter((outcome) => outcome === REFUSED)).toHaveLength(5);
    expect(all.filter((outcome) => outcome === 'rate_limit_exceeded')).toHaveLength(3);
    await expect(second(challenge, right)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    // The correct password does not bypass the limit.
    await expect(second(await challengeOf(ann), right)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect((await accounts.audited(ann.workspaceId, 'user.sign_in_failed')).at(-1)).toMatchObject({
      targetId: ann.id,
      step: 'second_factor',
    });
  });

  test('others at a shared address do not block it', async () => {
    const ann = await accounts.newUser();
    const { recoveryCodes } = await enrol(ann);
    const [first = '', next = ''] = recoveryCodes;
    const office = newAddress();
    await second(await challengeOf(ann, office), first, office);
    await Promise.allSettled(
      Array.from({ length: 52 }, () => accounts.tryPassword(newEmail(), 'wrong password', office)),
    );
    await accounts.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    await expect(accounts.tryPassword(newEmail(), 'wrong password', office)).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
    });
    expect((await second(await challengeOf(ann, office), next, office)).result).toMatchObject({ outcome: SIGNED_IN });
  });

  test('a challenge is bound to its user and password and cannot be forged', async () => {
    const [ann, bob] = [await accounts.newUser(), await accounts.newUser()];
    const [annsDevice, bobsDevice] = [(await enrol(ann)).device, (await enrol(bob)).device];
    const challenge = await challengeOf(ann);
    expect((await second(challenge, bobsDevice.at(Date.now()))).result).toMatchObject({ outcome: REFUSED });
    const code = annsDevice.at(Date.now());
    const forged = Buffer.from(challenge, 'base64url');
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
    for (const none of ['', 'x', forged.toString('base64url'), `${challenge}A`]) {
      expect((await second(none, code)).result).toMatchObject({ outcome: REFUSED });
    }
    await accounts.users.endSessions({ id: ann.id });
    expect((await second(challenge, code)).result).toMatchObject({ outcome: REFUSED });
  });

  test('an unconfirmed setup has no effect and expires after 15 minutes', async () => {
    const ann = await accounts.newUser();
    const { secret } = await accounts.secondFactors.beginSecondFactor(
      { userId: ann.id, password: ann.password },
      as(ann),
    );
    const confirm = (code: string) => accounts.secondFactors.confirmSecondFactor({ userId: ann.id, code }, as(ann));
    const right = authenticator(secret).at(Date.now());
    await expect(confirm(right === '123456' ? '654321' : '123456')).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'code' }],
    });
    await accounts.db.query(`update auth.users set pending_factor_at = pending_factor_at - interval '16 minutes'`);
    await expect(confirm(right)).rejects.toMatchObject({ code: 'conflict' });
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('the setup requires the password, and only one factor can exist', async () => {
    const ann = await accounts.newUser();
    await expect(
      accounts.secondFactors.beginSecondFactor({ userId: ann.id, password: 'wrong password' }, as(ann, newAddress())),
    ).rejects.toMatchObject({ code: 'invalid_request', details: [{ field: 'password' }] });
    await enrol(ann);
    await expect(enrol(ann)).rejects.toMatchObject({ code: 'conflict' });
  });

  test('a correct code disables it or renews the recovery codes; a wrong one does neither', async () => {
    const ann = await accounts.newUser();
    const { device, recoveryCodes } = await enrol(ann);
    const [lost = '', spare = ''] = recoveryCodes;
    const { secondFactors } = accounts;
    const userId = ann.id;
    await expect(secondFactors.removeSecondFactor({ userId, code: 'nonsense' }, as(ann))).rejects.toMatchObject({
      details: [{ field: 'code' }],
    });
    await expect(secondFactors.renewRecoveryCodes({ userId, code: '' }, as(ann))).rejects.toMatchObject({
      details: [{ field: 'code' }],
    });
    const renewed = await secondFactors.renewRecoveryCodes({ userId, code: spare }, as(ann));
    expect(renewed.recoveryCodes).toHaveLength(10);
    expect((await second(await challengeOf(ann), lost)).result).toMatchObject({ outcome: REFUSED });
    await accounts.takeEmails();
    const { user } = await secondFactors.removeSecondFactor({ userId, code: device.at(Date.now()) }, as(ann));
    expect(user).toMatchObject({ hasSecondFactor: false, sessionGeneration: 3n });
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
    expect((await accounts.takeEmails()).map(({ content }) => content.value)).toMatchObject([
      { change: Change.SECOND_FACTOR_REMOVED },
    ]);
    expect(await secondFactors.getSecondFactor({ userId }, as(ann))).toMatchObject({ recoveryCodesRemaining: 0 });
  });

  test('stays enabled after a password reset; an operator removes it only on request', async () => {
    const ann = await accounts.newUser();
    await enrol(ann);
    const { password } = await accounts.users.resetUser({ id: ann.id });
    expect(await accounts.tryPassword(ann.email, password)).toMatchObject({ outcome: SECOND_FACTOR_REQUIRED });
    const again = await accounts.users.resetUser({ id: ann.id, removeSecondFactor: true });
    expect(await accounts.tryPassword(ann.email, again.password)).toMatchObject({ outcome: SIGNED_IN });
    expect((await accounts.audited(ann.workspaceId, 'user.reset')).map(({ second_factor }) => second_factor)).toEqual([
      'kept',
      'removed',
    ]);
  });

  test('users cannot manage the second factors of other users', async () => {
    const [ann, bob] = [await accounts.newUser(), await accounts.newUser()];
    const { device } = await enrol(bob);
    const [userId, code] = [bob.id, device.at(Date.now())];
    const { secondFactors, passwords } = accounts;
    for (const attempt of [
      () => secondFactors.beginSecondFactor({ userId, password: bob.password }, as(ann)),
      () => secondFactors.confirmSecondFactor({ userId, code }, as(ann)),
      () => secondFactors.removeSecondFactor({ userId, code }, as(ann)),
      () => secondFactors.renewRecoveryCodes({ userId, code }, as(ann)),
      () => secondFactors.getSecondFactor({ userId }, as(ann)),
      () =>
        passwords.changePassword(
          { userId, currentPassword: bob.password, password: 'a quiet lake in autumn' },
          as(ann),
        ),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'insufficient_role' });
    }
  });
});
