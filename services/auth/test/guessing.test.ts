import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { from, newAddress, newEmail, startPeople, type TestPeople } from './people-support.ts';

const { SIGNED_IN, REFUSED } = SignInOutcome;

describe('Guessing', () => {
  let people: TestPeople;
  beforeEach(async () => {
    people = await startPeople();
  });
  afterEach(() => people?.stop());

  const outcomes = (attempts: readonly Promise<{ outcome: SignInOutcome }>[]) =>
    Promise.all(
      attempts.map((attempt) =>
        attempt.then(
          ({ outcome }) => outcome,
          (error) => error.code as string,
        ),
      ),
    );
  const count = (all: readonly unknown[], one: unknown) => all.filter((outcome) => outcome === one).length;

  test.each([
    ['an account', async () => (await people.person()).email],
    ['an address without an account', async () => newEmail()],
  ])('%s takes ten wrong passwords, from wherever they come and however many at once', async (_, make) => {
    const email = await make();
    const all = await outcomes(Array.from({ length: 25 }, () => people.tryPassword(email, 'wrong password')));
    expect([count(all, REFUSED), count(all, 'rate_limit_exceeded')]).toEqual([10, 15]);
    await expect(people.tryPassword(email, 'wrong password')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      retryAfterSeconds: expect.any(Number),
    });
  });

  test('the wait is told, and is enough; the right password is let in by then, and makes all good again', async () => {
    const ann = await people.person();
    for (let i = 0; i < 10; i += 1) await people.tryPassword(ann.email, 'wrong password');
    const error = await people.tryPassword(ann.email, ann.password).catch((error) => error);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(error.retryAfterSeconds).toBeGreaterThan(50);
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(60);
    const pass = (seconds: number) =>
      people.db.query(`update auth.throttles set arrival_at = arrival_at - $1 * interval '1 second'`, [seconds]);
    await pass(error.retryAfterSeconds);
    expect(await people.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
    for (let i = 0; i < 10; i += 1) {
      expect(await people.tryPassword(ann.email, 'wrong password')).toMatchObject({ outcome: REFUSED });
    }
  });

  test('one account does not use up what another has', async () => {
    const [ann, bob] = [await people.person(), await people.person()];
    for (let i = 0; i < 11; i += 1) await people.tryPassword(ann.email, 'wrong password').catch(() => {});
    expect(await people.tryPassword(bob.email, bob.password)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('strangers cannot keep people out where they have signed in before', async () => {
    const ann = await people.person();
    const home = newAddress();
    await people.tryPassword(ann.email, ann.password, home);
    for (let i = 0; i < 11; i += 1) await people.tryPassword(ann.email, 'wrong password').catch(() => {});
    await expect(people.tryPassword(ann.email, ann.password)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect(await people.tryPassword(ann.email, ann.password, home)).toMatchObject({ outcome: SIGNED_IN });
    // There, too, nobody may guess for ever.
    const all = await outcomes(Array.from({ length: 12 }, () => people.tryPassword(ann.email, 'wrong password', home)));
    expect([count(all, REFUSED), count(all, 'rate_limit_exceeded')]).toEqual([10, 2]);
  });

  test.each([
    ['an address', () => '198.51.100.9'],
    ['an address in the spelling of IPv6', (i: number) => (i % 2 ? '198.51.100.9' : '::ffff:198.51.100.9')],
    ['a network of IPv6', (i: number) => `2001:db8:1:2:${i.toString(16)}::1`],
  ])('%s has fifty tries, at whichever accounts', async (_, addressOf) => {
    // At once: each six seconds lets one more in.
    const all = await outcomes(
      Array.from({ length: 52 }, (_, i) => people.tryPassword(newEmail(), 'wrong password', addressOf(i))),
    );
    expect([count(all, REFUSED), count(all, 'rate_limit_exceeded')]).toEqual([50, 2]);
    const ann = await people.person();
    // However long the attempts have taken.
    await people.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    await expect(people.tryPassword(ann.email, ann.password, addressOf(1))).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
    });
    expect(await people.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('who signs in rightly is never held back', async () => {
    const ann = await people.person();
    const home = newAddress();
    for (let i = 0; i < 60; i += 1) {
      expect(await people.tryPassword(ann.email, ann.password, home)).toMatchObject({ outcome: SIGNED_IN });
    }
  });

  test('two instances count together', async () => {
    const other = await startPeople({ database: people.database });
    try {
      const email = newEmail();
      const all = await outcomes(
        Array.from({ length: 20 }, (_, i) => (i % 2 ? people : other).tryPassword(email, 'wrong password')),
      );
      expect([count(all, REFUSED), count(all, 'rate_limit_exceeded')]).toEqual([10, 10]);
    } finally {
      await other.stop();
    }
  });

  test('metrics count what sign-ins come to', async () => {
    const ann = await people.person();
    await people.tryPassword(ann.email, ann.password);
    for (let i = 0; i < 12; i += 1) await people.tryPassword(ann.email, 'wrong password').catch(() => {});
    const text = await people.metrics.metrics();
    const counted = [...text.matchAll(/^rms_sign_ins_total\{outcome="(\w+)"[^}]*\} (\d+)$/gm)].map(
      ([, ...pair]) => pair,
    );
    expect(Object.fromEntries(counted)).toEqual({ signed_in: '1', refused: '10', throttled: '2' });
  });

  test('what is counted tells nobody which addresses were typed', async () => {
    const email = newEmail();
    await people.signIn.verifyPassword({ email, password: 'x' }, from('198.51.100.20'));
    const { rows } = await people.db.query<{ subject: Buffer }>('select subject from auth.throttles');
    expect(rows).toHaveLength(2);
    for (const { subject } of rows) {
      expect(subject).toHaveLength(32);
      expect(subject.toString('latin1')).not.toContain(email);
    }
  });
});
