import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { disposable, perSuite } from '@rms/testkit';
import { from, newAddress, newEmail, startAccounts } from '../user-support.ts';

const { SIGNED_IN, REFUSED } = SignInOutcome;

describe('Password guessing', () => {
  const accounts = perSuite(startAccounts);
  beforeEach(() => accounts.db.query('truncate auth.throttles'));

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
    ['an account', async () => (await accounts.newUser()).email],
    ['an address without an account', async () => newEmail()],
  ])('%s allows ten wrong passwords, also from different addresses and concurrently', async (_, make) => {
    const email = await make();
    const all = await outcomes(Array.from({ length: 25 }, () => accounts.tryPassword(email, 'wrong password')));
    expect([count(all, REFUSED), count(all, 'rate_limit_exceeded')]).toEqual([10, 15]);
    await expect(accounts.tryPassword(email, 'wrong password')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringMatching(/^Too many attempts with a password for this account\. Try again in \d+ s\.$/),
      retryAfterSeconds: expect.any(Number),
    });
  });

  test('waiting for the returned time is enough; then the correct password works and resets the counter', async () => {
    const ann = await accounts.newUser();
    for (let i = 0; i < 10; i += 1) await accounts.tryPassword(ann.email, 'wrong password');
    const error = await accounts.tryPassword(ann.email, ann.password).catch((error) => error);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(error.retryAfterSeconds).toBeGreaterThan(50);
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(60);
    const pass = (seconds: number) =>
      accounts.db.query(`update auth.throttles set arrival_at = arrival_at - $1 * interval '1 second'`, [seconds]);
    await pass(error.retryAfterSeconds);
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
    for (let i = 0; i < 10; i += 1) {
      expect(await accounts.tryPassword(ann.email, 'wrong password')).toMatchObject({ outcome: REFUSED });
    }
  });

  test('after the clock is set back, an account allows one attempt and then requires the usual delay', async () => {
    const ann = await accounts.newUser();
    await accounts.tryPassword(ann.email, 'wrong password');
    await accounts.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 year'`);
    expect(await accounts.tryPassword(ann.email, 'wrong password')).toMatchObject({ outcome: REFUSED });
    const error = await accounts.tryPassword(ann.email, ann.password).catch((error) => error);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(60);
  });

  test('failures at an account do not count at another', async () => {
    const [ann, bob] = [await accounts.newUser(), await accounts.newUser()];
    for (let i = 0; i < 11; i += 1) await accounts.tryPassword(ann.email, 'wrong password').catch(() => {});
    expect(await accounts.tryPassword(bob.email, bob.password)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('strangers cannot lock users out of networks from which they have signed in before', async () => {
    const ann = await accounts.newUser();
    const home = newAddress();
    await accounts.tryPassword(ann.email, ann.password, home);
    for (let i = 0; i < 11; i += 1) await accounts.tryPassword(ann.email, 'wrong password').catch(() => {});
    await expect(accounts.tryPassword(ann.email, ann.password)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect(await accounts.tryPassword(ann.email, ann.password, home)).toMatchObject({ outcome: SIGNED_IN });
    // Guessing is limited there as well.
    const all = await outcomes(
      Array.from({ length: 12 }, () => accounts.tryPassword(ann.email, 'wrong password', home)),
    );
    expect([count(all, REFUSED), count(all, 'rate_limit_exceeded')]).toEqual([10, 2]);
  });

  test.each([
    ['an address', () => '198.51.100.9'],
    ['an IPv4-mapped IPv6 address', (i: number) => (i % 2 ? '198.51.100.9' : '::ffff:198.51.100.9')],
    ['an IPv6 network', (i: number) => `2001:db8:1:2:${i.toString(16)}::1`],
  ])('%s allows fifty attempts across all accounts', async (_, addressOf) => {
    // Concurrently, because the throttle admits one more attempt every six seconds.
    const all = await outcomes(
      Array.from({ length: 52 }, (_, i) => accounts.tryPassword(newEmail(), 'wrong password', addressOf(i))),
    );
    expect([count(all, REFUSED), count(all, 'rate_limit_exceeded')]).toEqual([50, 2]);
    const ann = await accounts.newUser();
    // Makes the result independent of the attempts' duration.
    await accounts.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    await expect(accounts.tryPassword(ann.email, ann.password, addressOf(1))).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
    });
    expect(await accounts.tryPassword(ann.email, ann.password)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('users who have signed in from a network are admitted after others have exhausted its limit', async () => {
    const [ann, bob] = [await accounts.newUser(), await accounts.newUser()];
    const office = newAddress();
    await accounts.tryPassword(ann.email, ann.password, office);
    await outcomes(Array.from({ length: 52 }, () => accounts.tryPassword(newEmail(), 'wrong password', office)));
    await accounts.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    const refusalOf = async (email: string) =>
      accounts.tryPassword(email, 'wrong password', office).catch((error) => error);
    // A wrong password gets the same response for every account, so that it does not reveal who uses the network.
    const refusals = [await refusalOf(ann.email), await refusalOf(bob.email), await refusalOf(newEmail())];
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({
        code: 'rate_limit_exceeded',
        // The time to wait decreases between the attempts.
        message: expect.stringMatching(/^Too many failed attempts from this network\. Try again in \d+ s\.$/),
      });
    }
    await expect(accounts.tryPassword(bob.email, bob.password, office)).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
    });
    expect(await accounts.tryPassword(ann.email, ann.password, office)).toMatchObject({ outcome: SIGNED_IN });
  });

  test('successful sign-ins are never throttled', async () => {
    const ann = await accounts.newUser();
    const home = newAddress();
    for (let i = 0; i < 60; i += 1) {
      expect(await accounts.tryPassword(ann.email, ann.password, home)).toMatchObject({ outcome: SIGNED_IN });
    }
  });

  test('two instances share the counters', async () => {
    await using other = disposable(await startAccounts({ database: accounts.database }));
    const email = newEmail();
    const all = await outcomes(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? accounts : other).tryPassword(email, 'wrong password')),
    );
    expect([count(all, REFUSED), count(all, 'rate_limit_exceeded')]).toEqual([10, 10]);
  });

  test('metrics count the outcomes of sign-ins', async () => {
    const counted = async (outcome: string) => {
      const { values = [] } = (await accounts.metrics.getSingleMetric('rms_sign_ins_total')?.get()) ?? {};
      return values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
    };
    const all = async () => [await counted('signed_in'), await counted('refused'), await counted('throttled')] as const;
    const before = await all();
    const ann = await accounts.newUser();
    await accounts.tryPassword(ann.email, ann.password);
    for (let i = 0; i < 12; i += 1) await accounts.tryPassword(ann.email, 'wrong password').catch(() => {});
    const after = await all();
    expect(after.map((count, i) => count - (before[i] ?? 0))).toEqual([1, 10, 2]);
  });

  test('the counters do not reveal the typed addresses', async () => {
    const email = newEmail();
    await accounts.signIn.verifyPassword({ email, password: 'x' }, from('198.51.100.20'));
    const { rows } = await accounts.db.query<{ subject: Buffer }>('select subject from auth.throttles');
    expect(rows).toHaveLength(2);
    for (const { subject } of rows) {
      expect(subject).toHaveLength(32);
      expect(subject.toString('latin1')).not.toContain(email);
    }
  });
});
