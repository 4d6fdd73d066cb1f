import { SecurityMail_Change as Change } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { as, authenticator, from, newAddress, type Person, startPeople, type TestPeople } from './people-support.ts';

const { SIGNED_IN, REFUSED, SECOND_FACTOR_REQUIRED } = SignInOutcome;
const periodMs = 30_000;

describe('The second factor', () => {
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople();
  });
  beforeEach(async () => {
    await people.takeMails();
  });
  afterAll(() => people?.stop());

  /** Lets a code of any time count as new, as after some minutes. */
  const forgetSteps = () => people.db.query('update auth.users set second_factor_step = 0');
  const enrol = async (who: Person) => {
    const { secret } = await people.secondFactors.beginSecondFactor(
      { userId: who.id, password: who.password },
      as(who, newAddress()),
    );
    const device = authenticator(secret);
    const confirmed = await people.secondFactors.confirmSecondFactor(
      { userId: who.id, code: device.at(Date.now()) },
      as(who),
    );
    await forgetSteps();
    return { device, recoveryCodes: confirmed.recoveryCodes, user: confirmed.user };
  };
  const challengeOf = async (who: Person) => {
    const { outcome, challenge, user } = await people.tryPassword(who.email, who.password);
    expect([outcome, user]).toEqual([SECOND_FACTOR_REQUIRED, undefined]);
    return challenge;
  };
  const second = (challenge: string, code: string) =>
    people.signIn.verifySecondFactor({ challenge, code }, from(newAddress()));

  test('is on once a code has confirmed it, and asked for from then on', async () => {
    const ann = await people.person();
    const begun = await people.secondFactors.beginSecondFactor({ userId: ann.id, password: ann.password }, as(ann));
    expect(begun.secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(begun.uri).toContain(`secret=${begun.secret}`);
    expect(decodeURIComponent(begun.uri)).toMatch(`otpauth://totp/rms:${ann.email}?`);
    expect(await people.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
    const code = authenticator(begun.secret).at(Date.now());
    const { user, recoveryCodes } = await people.secondFactors.confirmSecondFactor({ userId: ann.id, code }, as(ann));
    expect(user).toMatchObject({ hasSecondFactor: true, sessionGeneration: 2n });
    expect(new Set(recoveryCodes).size).toBe(10);
    for (const one of recoveryCodes) expect(one).toMatch(/^([a-km-z2-9]{4}-){3}[a-km-z2-9]{4}$/);
    const challenge = await challengeOf(ann);
    await forgetSteps();
    const { result } = await second(challenge, ` ${code.slice(0, 3)} ${code.slice(3)} `);
    expect(result).toMatchObject({ outcome: SIGNED_IN, user: { id: ann.id } });
    expect(await people.audited(ann.workspaceId)).toMatchObject([
      { action: 'user.created' },
      { action: 'user.signed_in', method: 'password' },
      { action: 'user.second_factor_enabled', actor: `user:${ann.id}` },
      { action: 'user.signed_in', method: 'password', second_factor: 'authenticator' },
    ]);
    expect(await people.takeMails()).toMatchObject([
      { to: ann.email, content: { value: { change: Change.SECOND_FACTOR_ENABLED } } },
    ]);
  });

  test('a code is taken once: not at the next sign-in, not side by side, and none before it either', async () => {
    const ann = await people.person();
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

  test('the code that has confirmed it is used up', async () => {
    const ann = await people.person();
    const { secret } = await people.secondFactors.beginSecondFactor(
      { userId: ann.id, password: ann.password },
      as(ann),
    );
    const code = authenticator(secret).at(Date.now());
    await people.secondFactors.confirmSecondFactor({ userId: ann.id, code }, as(ann));
    expect((await second(await challengeOf(ann), code)).result).toMatchObject({ outcome: REFUSED });
  });

  test('a recovery code works once, in any spelling, and its user is told', async () => {
    const ann = await people.person();
    const { recoveryCodes } = await enrol(ann);
    await people.takeMails();
    const [code = '', other = ''] = recoveryCodes;
    const used = await second(await challengeOf(ann), code.toUpperCase().replaceAll('-', ' '));
    expect(used).toMatchObject({ result: { outcome: SIGNED_IN }, recoveryCodesLeft: 9 });
    expect((await second(await challengeOf(ann), code)).result).toMatchObject({ outcome: REFUSED });
    expect(await second(await challengeOf(ann), other)).toMatchObject({ recoveryCodesLeft: 8 });
    expect((await people.takeMails()).map(({ content }) => content.value)).toMatchObject([
      { change: Change.RECOVERY_CODE_USED },
      { change: Change.RECOVERY_CODE_USED },
    ]);
    expect(await people.secondFactors.getSecondFactor({ userId: ann.id }, as(ann))).toMatchObject({
      enabled: true,
      recoveryCodesLeft: 8,
    });
  });

  test('five wrong codes, at once or not, then a wait; a failure is in the audit log', async () => {
    const ann = await people.person();
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
    // Knowing the password does not help.
    await expect(second(await challengeOf(ann), right)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect((await people.audited(ann.workspaceId, 'user.sign_in_failed')).at(-1)).toMatchObject({
      targetId: ann.id,
      step: 'second_factor',
    });
  });

  test('a challenge is bound to its user and password, and cannot be made up', async () => {
    const [ann, bob] = [await people.person(), await people.person()];
    const [annsDevice, bobsDevice] = [(await enrol(ann)).device, (await enrol(bob)).device];
    const challenge = await challengeOf(ann);
    expect((await second(challenge, bobsDevice.at(Date.now()))).result).toMatchObject({ outcome: REFUSED });
    const code = annsDevice.at(Date.now());
    const forged = Buffer.from(challenge, 'base64url');
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
    for (const none of ['', 'x', forged.toString('base64url'), `${challenge}A`]) {
      expect((await second(none, code)).result).toMatchObject({ outcome: REFUSED });
    }
    await people.users.endSessions({ id: ann.id });
    expect((await second(challenge, code)).result).toMatchObject({ outcome: REFUSED });
  });

  test('what was begun and not confirmed is off; after a quarter of an hour it has to be begun again', async () => {
    const ann = await people.person();
    const { secret } = await people.secondFactors.beginSecondFactor(
      { userId: ann.id, password: ann.password },
      as(ann),
    );
    const confirm = (code: string) => people.secondFactors.confirmSecondFactor({ userId: ann.id, code }, as(ann));
    const right = authenticator(secret).at(Date.now());
    await expect(confirm(right === '123456' ? '654321' : '123456')).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'code' }],
    });
    await people.db.query(`update auth.users set pending_factor_at = pending_factor_at - interval '16 minutes'`);
    await expect(confirm(right)).rejects.toMatchObject({ code: 'conflict' });
    expect(await people.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('beginning asks for the password; there is one at a time', async () => {
    const ann = await people.person();
    await expect(
      people.secondFactors.beginSecondFactor({ userId: ann.id, password: 'wrong password' }, as(ann, newAddress())),
    ).rejects.toMatchObject({ code: 'invalid_request', details: [{ field: 'password' }] });
    await enrol(ann);
    await expect(enrol(ann)).rejects.toMatchObject({ code: 'conflict' });
  });

  test('a code turns it off, or gives new recovery codes; a wrong one does neither', async () => {
    const ann = await people.person();
    const { device, recoveryCodes } = await enrol(ann);
    const [lost = '', spare = ''] = recoveryCodes;
    const { secondFactors } = people;
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
    await people.takeMails();
    const { user } = await secondFactors.removeSecondFactor({ userId, code: device.at(Date.now()) }, as(ann));
    expect(user).toMatchObject({ hasSecondFactor: false, sessionGeneration: 3n });
    expect(await people.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
    expect((await people.takeMails()).map(({ content }) => content.value)).toMatchObject([
      { change: Change.SECOND_FACTOR_REMOVED },
    ]);
    expect(await secondFactors.getSecondFactor({ userId }, as(ann))).toMatchObject({ recoveryCodesLeft: 0 });
  });

  test('a new password leaves it on; an operator takes it away only when asked to', async () => {
    const ann = await people.person();
    await enrol(ann);
    const { password } = await people.users.resetUser({ id: ann.id });
    expect(await people.tryPassword(ann.email, password)).toMatchObject({ outcome: SECOND_FACTOR_REQUIRED });
    const again = await people.users.resetUser({ id: ann.id, removeSecondFactor: true });
    expect(await people.tryPassword(ann.email, again.password)).toMatchObject({ outcome: SIGNED_IN });
    expect((await people.audited(ann.workspaceId, 'user.reset')).map(({ second_factor }) => second_factor)).toEqual([
      'kept',
      'removed',
    ]);
  });

  test('nobody does any of this for somebody else', async () => {
    const [ann, bob] = [await people.person(), await people.person()];
    const { device } = await enrol(bob);
    const [userId, code] = [bob.id, device.at(Date.now())];
    const { secondFactors, passwords } = people;
    for (const attempt of [
      secondFactors.beginSecondFactor({ userId, password: bob.password }, as(ann)),
      secondFactors.confirmSecondFactor({ userId, code }, as(ann)),
      secondFactors.removeSecondFactor({ userId, code }, as(ann)),
      secondFactors.renewRecoveryCodes({ userId, code }, as(ann)),
      secondFactors.getSecondFactor({ userId }, as(ann)),
      passwords.changePassword({ userId, currentPassword: bob.password, password: 'a quiet lake in autumn' }, as(ann)),
    ]) {
      await expect(attempt).rejects.toMatchObject({ code: 'insufficient_role' });
    }
  });
});
