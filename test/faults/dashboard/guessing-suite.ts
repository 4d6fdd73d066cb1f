import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { Secret, TOTP } from 'otpauth';
import { type Answer, browserAt, codeOf, continueWith, type HttpBrowser, type Person, sessionOf } from './browser.ts';
import type { World } from './world.ts';

const wrong = 'wrong password';

/** Passwords, codes and tokens tried one after the other, from one address or many. */
export function guessingSuite(given: () => World): void {
  let world: World;
  beforeAll(() => {
    world = given();
  });

  /** As a proxy says for whom it calls: the last entry is its word, those before it are the client's. */
  const from = (address: string, ...claimed: string[]) => ({ 'X-Forwarded-For': [...claimed, address].join(', ') });
  let addresses = 0;
  const newAddress = () => {
    addresses += 1;
    return `198.18.${addresses >> 8}.${addresses & 255}`;
  };
  const signIn = (email: string, password: string, headers: Record<string, string> = from(newAddress())) =>
    world.anonymous.send('POST', '/api/sign-in', { body: { email, password }, headers });
  const count = (answers: readonly Answer[], status: number) => answers.filter((one) => one.status === status).length;
  /** All that a browser sees of an answer, but what is another at each. */
  const formOf = ({ status, text, headers }: Answer) => ({
    status,
    text: text.replace(/req_\w+/, 'req').replace(/(retry_after_seconds":)\d+/, '$1'),
    headers: [...headers.keys()].sort(),
    retryAfter: headers.get('retry-after') !== null,
  });

  test('an account takes ten wrong passwords from anywhere; one that is not there is held back just so', async () => {
    const known = (await world.person(Role.VIEWER)).email;
    const sequence = async (email: string) => {
      const answers: Answer[] = [];
      for (let i = 0; i < 12; i += 1) answers.push(await signIn(email, wrong));
      return answers;
    };
    const answers = await sequence(known);
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(401), 429, 429]);
    expect(answers.flatMap(({ headers }) => headers.getSetCookie())).toEqual([]);
    expect(Number(answers.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0);
    const ofNobody = await sequence('nobody@example.com');
    expect(ofNobody.map(formOf)).toEqual(answers.map(formOf));
  });

  test('an address takes fifty, whatever it claims to be and whichever accounts it tries; its neighbour is not held back', async () => {
    const attacker = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        signIn(`a${i}@example.com`, wrong, from(attacker, newAddress(), '127.0.0.1')),
      ),
    );
    // One more each six seconds.
    expect(count(answers, 429)).toBeGreaterThan(0);
    expect(count(answers, 401)).toBeGreaterThanOrEqual(50);
    await world.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    const person = await world.person(Role.VIEWER);
    expect((await signIn(person.email, person.password, from(attacker))).status).toBe(429);
    expect((await signIn(person.email, person.password)).status).toBe(200);
  });

  test('asking for a new password tells nothing, and does not go on for ever', async () => {
    const known = (await world.person(Role.VIEWER)).email;
    const ask = (email: string) =>
      world.anonymous.send('POST', '/api/password-reset/request', { body: { email }, headers: from(newAddress()) });
    const sequence = async (email: string) => {
      const answers: Answer[] = [];
      for (let i = 0; i < 5; i += 1) answers.push(await ask(email));
      return answers.map(formOf);
    };
    const forms = await sequence(known);
    expect(forms.map(({ status }) => status)).toEqual([204, 204, 204, 429, 429]);
    expect(await sequence('none@example.com')).toEqual(forms);
  });

  test('tokens of links cannot be tried out from one address', async () => {
    const attacker = newAddress();
    const bodies = {
      '/api/invitation/find': {},
      '/api/invitation/accept': { name: '', password: 'a password of twelve' },
      '/api/password-reset': { password: 'a password of twelve' },
    };
    const tries = Object.entries(bodies).flatMap(([path, body]) =>
      Array.from({ length: 20 }, (_, i) =>
        world.anonymous.send('POST', path, { body: { ...body, token: `guess-${i}` }, headers: from(attacker) }),
      ),
    );
    const answers = await Promise.all(tries);
    expect(count(answers, 429)).toBeGreaterThan(0);
    expect(count(answers, 404) + count(answers, 429)).toBe(60);
  });

  describe('the second factor', () => {
    let person: Person;
    beforeEach(async () => {
      person = await world.person(Role.VIEWER);
      const browser = await world.signIn(person);
      const begun = await post(browser, '/begin', { password: person.password });
      const totp = new TOTP({ secret: Secret.fromBase32((JSON.parse(begun.text) as { secret: string }).secret) });
      const confirmed = await post(browser, '/confirm', { code: totp.generate() });
      expect(confirmed.status).toBe(200);
      recoveryCodes = (JSON.parse(confirmed.text) as { recovery_codes: string[] }).recovery_codes;
    });
    let recoveryCodes: string[];
    const post = (browser: HttpBrowser, path: string, body: object) =>
      browser.send('POST', `/api/account/second-factor${path}`, { body });
    const firstStep = async () => {
      const answer = await signIn(person.email, person.password);
      expect(answer.text).toContain('second_factor');
      return browserAt(world.url, { cookie: sessionOf(answer) });
    };
    const secondStep = (half: HttpBrowser, code: string) =>
      half.send('POST', '/api/sign-in/second-factor', { body: { code }, headers: from(newAddress()) });

    test('takes five wrong codes, of whatever kind and however often one begins anew', async () => {
      const statuses: number[] = [];
      for (const code of ['000000', '000001', 'aaaa-bbbb-cccc', '000002', 'dddd-eeee-ffff', '000003', '000004']) {
        statuses.push((await secondStep(await firstStep(), code)).status);
      }
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
      // Held back is the right one as well, and said so; nobody is let in meanwhile.
      const held = await secondStep(await firstStep(), recoveryCodes[0] ?? '');
      expect([held.status, sessionOf(held)]).toEqual([429, '']);
    });

    test('the first step opens nothing else; the second begins another session, and uses its code up', async () => {
      const half = await firstStep();
      for (const path of ['/api/account', '/api/account/sessions', `/api/workspaces/${world.workspaceId}/live/keys`]) {
        expect(codeOf(await half.send('GET', path))).toBe('second_factor_required');
      }
      const [code = ''] = recoveryCodes;
      const done = await secondStep(half, code);
      expect(done.status).toBe(200);
      expect(sessionOf(done)).not.toBe(half.cookie);
      expect((await half.send('GET', '/api/account')).status).toBe(401);
      expect((await (await continueWith(world.url, done)).send('GET', '/api/account')).status).toBe(200);
      expect((await secondStep(await firstStep(), code)).status).toBe(401);
    });
  });
}
