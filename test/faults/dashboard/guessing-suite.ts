import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { perTest } from '@rms/testkit';
import { Secret, TOTP } from 'otpauth';
import { type BrowserResponse, browserAt, codeOf, continueWith, type HttpBrowser, sessionOf } from './browser.ts';
import type { World } from './world.ts';

const wrong = 'wrong password';

/** Tests brute-force attempts on passwords, codes and tokens, from one or many addresses. */
export function guessingSuite(world: World): void {
  /** Headers as set by a proxy: the last entry is the proxy's, the entries before it come from the client. */
  const from = (address: string, ...claimed: string[]) => ({ 'X-Forwarded-For': [...claimed, address].join(', ') });
  let addresses = 0;
  const newAddress = () => {
    addresses += 1;
    return `198.18.${addresses >> 8}.${addresses & 255}`;
  };
  const signIn = (email: string, password: string, headers: Record<string, string> = from(newAddress())) =>
    world.anonymous.send('POST', '/api/sign-in', { body: { email, password }, headers });
  const count = (responses: readonly BrowserResponse[], status: number) =>
    responses.filter((one) => one.status === status).length;
  /** Returns the response parts that a browser sees, except those that differ in every response. */
  const formOf = ({ status, text, headers }: BrowserResponse) => ({
    status,
    text: text.replace(/req_\w+/, 'req').replace(/(retry_after_seconds":|Try again in )\d+/g, '$1'),
    headers: [...headers.keys()].sort(),
    retryAfter: headers.get('retry-after') !== null,
  });

  test('an account allows ten wrong passwords from any address; an unknown account behaves the same', async () => {
    const known = (await world.member(Role.VIEWER)).email;
    const sequence = async (email: string) => {
      const responses: BrowserResponse[] = [];
      for (let i = 0; i < 12; i += 1) responses.push(await signIn(email, wrong));
      return responses;
    };
    const responses = await sequence(known);
    expect(responses.map(({ status }) => status)).toEqual([...Array(10).fill(401), 429, 429]);
    expect(responses.flatMap(({ headers }) => headers.getSetCookie())).toEqual([]);
    expect(Number(responses.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0);
    const ofUnknown = await sequence('nobody@example.com');
    expect(ofUnknown.map(formOf)).toEqual(responses.map(formOf));
  });

  test('an address allows fifty attempts, with any accounts and forged X-Forwarded-For entries; other addresses are unaffected', async () => {
    const attacker = newAddress();
    const responses: BrowserResponse[] = [];
    // One more attempt is allowed every six seconds.
    while (count(responses, 429) === 0 && responses.length < 200) {
      const emails = Array.from({ length: 10 }, (_, i) => `a${responses.length + i}@example.com`);
      const attempt = (email: string) => signIn(email, wrong, from(attacker, newAddress(), '127.0.0.1'));
      responses.push(...(await Promise.all(emails.map(attempt))));
    }
    expect(count(responses, 429)).toBeGreaterThan(0);
    expect(count(responses, 401)).toBeGreaterThanOrEqual(50);
    expect(count(responses, 401) + count(responses, 429)).toBe(responses.length);
    await world.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    const member = await world.member(Role.VIEWER);
    expect((await signIn(member.email, member.password, from(attacker))).status).toBe(429);
    expect((await signIn(member.email, member.password)).status).toBe(200);
  });

  test('password reset requests reveal nothing and are limited', async () => {
    const known = (await world.member(Role.VIEWER)).email;
    const ask = (email: string) =>
      world.anonymous.send('POST', '/api/password-reset/request', { body: { email }, headers: from(newAddress()) });
    const sequence = async (email: string) => {
      const responses: BrowserResponse[] = [];
      for (let i = 0; i < 5; i += 1) responses.push(await ask(email));
      return responses.map(formOf);
    };
    const forms = await sequence(known);
    expect(forms.map(({ status }) => status)).toEqual([204, 204, 204, 429, 429]);
    expect(await sequence('none@example.com')).toEqual(forms);
  });

  test('guessing link tokens from one address is limited', async () => {
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
    const responses = await Promise.all(tries);
    expect(count(responses, 429)).toBeGreaterThan(0);
    expect(count(responses, 404) + count(responses, 429)).toBe(60);
  });

  describe('the second factor', () => {
    const member = perTest(() => world.member(Role.VIEWER));
    beforeEach(async () => {
      const browser = await world.signIn(member);
      const started = await post(browser, '/begin', { password: member.password });
      const totp = new TOTP({ secret: Secret.fromBase32((JSON.parse(started.text) as { secret: string }).secret) });
      const confirmed = await post(browser, '/confirm', { code: totp.generate() });
      expect(confirmed.status).toBe(200);
      recoveryCodes = (JSON.parse(confirmed.text) as { recovery_codes: string[] }).recovery_codes;
    });
    let recoveryCodes: string[];
    const post = (browser: HttpBrowser, path: string, body: object) =>
      browser.send('POST', `/api/account/second-factor${path}`, { body });
    const firstStep = async () => {
      const response = await signIn(member.email, member.password);
      expect(response.text).toContain('second_factor');
      return browserAt(world.url, { cookie: sessionOf(response) });
    };
    const secondStep = (half: HttpBrowser, code: string) =>
      half.send('POST', '/api/sign-in/second-factor', { body: { code }, headers: from(newAddress()) });

    test('allows five wrong codes of any kind, across restarts of the sign-in', async () => {
      const statuses: number[] = [];
      for (const code of ['000000', '000001', 'aaaa-bbbb-cccc', '000002', 'dddd-eeee-ffff', '000003', '000004']) {
        statuses.push((await secondStep(await firstStep(), code)).status);
      }
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
      // Until then, a correct code is also rejected, with a clear error, and starts no session.
      const held = await secondStep(await firstStep(), recoveryCodes[0] ?? '');
      expect([held.status, sessionOf(held)]).toEqual([429, '']);
    });

    test('the first step gives no access; the second starts a new session and uses up its code', async () => {
      const half = await firstStep();
      for (const path of [
        '/api/account',
        '/api/account/sessions',
        `/api/workspaces/${world.workspaceId}/live/api_keys`,
      ]) {
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
