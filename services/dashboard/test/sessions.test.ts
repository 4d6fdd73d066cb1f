import { RmsError } from '@rms/base/errors';
import { disposable, perTest } from '@rms/testkit';
import { maxPerUser, tokenHashOf, touchEveryMs } from '../src/session/session.ts';
import { codeOf, cookieOf, startDashboard } from './support.ts';

const dashboard = perTest(startDashboard);

const signInBody = { email: 'person@example.com', password: 'right password' };
const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(dashboard.url + path, {
    method: 'POST',
    headers: { Origin: dashboard.url, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
/** Requests of RecordSessionEnd that auth has received. */
const recordedEnds = () =>
  dashboard.recorded.filter(({ method }) => method === 'recordSessionEnd').map(({ request }) => request);
const account = (cookie: string) => fetch(`${dashboard.url}/api/account`, { headers: { Cookie: cookie } });

test('a wrong password does not sign in and sets no cookie', async () => {
  const response = await post('/api/sign-in', { ...signInBody, password: 'wrong' });
  expect(response.status).toBe(401);
  expect(await codeOf(response)).toBe('sign_in_refused');
  expect(response.headers.getSetCookie()).toEqual([]);
});

test('the cookie is HttpOnly and SameSite=Strict', async () => {
  const response = await post('/api/sign-in', signInBody);
  const [cookie = ''] = response.headers.getSetCookie();
  expect(cookie).toMatch(/^rms_session_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
});

test('dashboards on several ports of a host have cookies of their own', async () => {
  await using other = disposable(await startDashboard());
  const signedIn = [(await dashboard.signIn()).cookie, (await other.signIn()).cookie];
  expect(signedIn.map((cookie) => cookie.split('=')[0])).toEqual(
    [dashboard, other].map(({ url }) => `rms_session_${new URL(url).port}`),
  );
  // A browser sends both to both.
  const headers = { Cookie: signedIn.join('; ') };
  for (const { url } of [dashboard, other]) expect((await fetch(`${url}/api/account`, { headers })).status).toBe(200);
});

test('over HTTPS the cookie is Secure and has the __Host- prefix', async () => {
  await using secure = disposable(await startDashboard({ DASHBOARD_URL: 'https://dashboard.example.com' }));
  const response = await fetch(`${secure.url}/api/sign-in`, {
    method: 'POST',
    headers: { Origin: 'https://dashboard.example.com', 'Content-Type': 'application/json' },
    body: JSON.stringify(signInBody),
  });
  const [cookie = ''] = response.headers.getSetCookie();
  expect(cookie).toMatch(/^__Host-rms_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+; Secure$/);
  const plain = cookieOf(response).replace('__Host-', '');
  // A cookie that a sibling domain could have set is ignored.
  expect((await fetch(`${secure.url}/api/account`, { headers: { Cookie: plain } })).status).toBe(401);
  expect((await fetch(`${secure.url}/api/account`, { headers: { Cookie: cookieOf(response) } })).status).toBe(200);
});

test('signing in replaces the token that the browser sent and ends its session', async () => {
  const planted = `rms_session_${new URL(dashboard.url).port}=${'A'.repeat(43)}`;
  const first = await dashboard.signIn({ cookie: planted });
  expect(first.cookie).not.toBe(planted);
  expect((await account(planted)).status).toBe(401);
  const second = await dashboard.signIn({ cookie: first.cookie });
  expect(second.cookie).not.toBe(first.cookie);
  expect((await account(first.cookie)).status).toBe(401);
  expect((await account(second.cookie)).status).toBe(200);
});

test('a store that rejects changes does not end the use of sessions, and is reported once', async () => {
  const { cookie } = await dashboard.signIn();
  const { store } = dashboard;
  const tokenHash = tokenHashOf(cookie.split('=')[1] ?? '');
  const session = await store.find(tokenHash);
  if (!session) throw new Error('the session is missing');
  await store.update(tokenHash, { ...session, lastSeenAtMs: session.lastSeenAtMs - 2 * touchEveryMs });
  const full = async () => {
    throw new RmsError('service_unavailable', { cause: new Error('OOM command not allowed') });
  };
  Object.assign(store, { update: full, remove: full });
  for (let i = 0; i < 2; i += 1) expect((await account(cookie)).status).toBe(200);
  dashboard.account.valid = false;
  expect((await account(cookie)).status).toBe(401);
  const warnings = dashboard.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
  expect(warnings.map(({ msg }) => msg)).toEqual(['the session store rejects changes; users stay signed in']);
});

test('two cookies with the same name are ignored', async () => {
  const { cookie } = await dashboard.signIn();
  expect((await account(`${cookie}; ${cookie.split('=')[0]}=${'B'.repeat(43)}`)).status).toBe(401);
});

test('the first step alone only allows the second step', async () => {
  dashboard.account.secondFactor = true;
  const first = await post('/api/sign-in', signInBody);
  expect(await first.json()).toEqual({ step: 'second_factor' });
  const half = cookieOf(first);
  const refused = await account(half);
  expect(refused.status).toBe(401);
  expect(await codeOf(refused)).toBe('second_factor_required');
  const wrong = await post('/api/sign-in/second-factor', { code: '000000' }, { Cookie: half });
  expect(await codeOf(wrong)).toBe('code_refused');
  const right = await post('/api/sign-in/second-factor', { code: '123456' }, { Cookie: half });
  expect(await right.json()).toEqual({ step: 'done' });
  expect(cookieOf(right)).not.toBe(half);
  expect((await account(cookieOf(right))).status).toBe(200);
  expect((await account(half)).status).toBe(401);
});

test('a user has a limited number of sign-ins that await the second factor; the oldest one ends', async () => {
  dashboard.account.secondFactor = true;
  const first = cookieOf(await post('/api/sign-in', signInBody));
  for (let i = 0; i < maxPerUser; i += 1) await post('/api/sign-in', signInBody);
  const last = cookieOf(await post('/api/sign-in', signInBody));
  const complete = (cookie: string) => post('/api/sign-in/second-factor', { code: '123456' }, { Cookie: cookie });
  expect(await codeOf(await complete(first))).toBe('not_signed_in');
  expect((await complete(last)).status).toBe(200);
});

test('the second step requires the first', async () => {
  const response = await post('/api/sign-in/second-factor', { code: '123456' });
  expect(await codeOf(response)).toBe('not_signed_in');
  const { cookie } = await dashboard.signIn();
  expect((await post('/api/sign-in/second-factor', { code: '123456' }, { Cookie: cookie })).status).toBe(401);
});

test('signing out ends the session on the server', async () => {
  const browser = await dashboard.signIn();
  const { id } = (await dashboard.store.listOf('usr_1'))[0] ?? {};
  const response = await browser.send('POST', '/api/account/sign-out');
  expect(recordedEnds()).toEqual([{ id: 'usr_1', endedId: id, signsOut: true }]);
  expect(response.status).toBe(204);
  expect(response.headers.getSetCookie()[0]).toContain('Max-Age=0');
  expect((await account(browser.cookie)).status).toBe(401);
});

test('a session ends when auth has incremented the generation or deleted the user', async () => {
  const browser = await dashboard.signIn();
  dashboard.account.generation += 1n;
  expect((await account(browser.cookie)).status).toBe(401);
  const again = await dashboard.signIn();
  dashboard.account.valid = false;
  expect((await account(again.cookie)).status).toBe(401);
  dashboard.account.valid = true;
  expect((await account(again.cookie)).status).toBe(401);
});

test('sessions are listed without tokens, and can be ended individually or all except the current one', async () => {
  const [one, two, three] = [await dashboard.signIn(), await dashboard.signIn(), await dashboard.signIn()];
  const list = async () => {
    const text = await (await one.send('GET', '/api/account/sessions')).text();
    for (const { cookie } of [one, two, three]) expect(text).not.toContain(cookie.split('=')[1]);
    return (JSON.parse(text) as { data: { id: string; current: boolean }[] }).data;
  };
  const sessions = await list();
  expect(sessions).toHaveLength(3);
  expect(sessions.filter(({ current }) => current)).toHaveLength(1);
  const other = sessions.find(({ current }) => !current);
  expect((await one.send('DELETE', `/api/account/sessions/${other?.id}`)).status).toBe(204);
  expect(await list()).toHaveLength(2);
  expect((await one.send('DELETE', `/api/account/sessions/${other?.id}`)).status).toBe(404);
  expect(recordedEnds()).toEqual([{ id: 'usr_1', endedId: other?.id }]);
  const ended = await one.send('POST', '/api/account/sessions/end-others');
  expect(ended.status).toBe(204);
  const kept = cookieOf(ended);
  const states = await Promise.all([one, two, three].map(async ({ cookie }) => (await account(cookie)).status));
  expect(states).toEqual([401, 401, 401]);
  expect((await account(kept)).status).toBe(200);
});

test('no token, password or cookie is in the log', async () => {
  const browser = await dashboard.signIn();
  await browser.send('GET', '/api/account');
  const log = dashboard.lines.join('');
  expect(log).toContain('"route":"/api/account"');
  for (const secret of [browser.cookie.split('=')[1] ?? '', browser.csrfToken, 'right password']) {
    expect(log).not.toContain(secret);
  }
});

test.each([
  ['is ignored without a trusted proxy', '', '198.51.100.7', '127.0.0.1'],
  ['is used from a trusted proxy', '127.0.0.0/8', '198.51.100.7', '198.51.100.7'],
  ['is used up to the last trusted hop', '127.0.0.0/8', '203.0.113.1, 198.51.100.7', '198.51.100.7'],
])('X-Forwarded-For %s when sign-in attempts are counted by address', async (_, TRUSTED_PROXIES, named, counted) => {
  await using behind = disposable(await startDashboard({ TRUSTED_PROXIES }));
  await fetch(`${behind.url}/api/sign-in`, {
    method: 'POST',
    headers: { Origin: behind.url, 'Content-Type': 'application/json', 'X-Forwarded-For': named },
    body: JSON.stringify(signInBody),
  });
  const requested = behind.recorded.find(({ method }) => method === 'verifyPassword');
  expect(requested?.options).toMatchObject({ context: { clientAddress: counted } });
});

test.each([{ 'X-Forwarded-Proto': 'HTTPS' }, { 'X-Forwarded-Proto': 'https, https' }, { Forwarded: 'proto=https' }])(
  'a page that was loaded over HTTPS through a trusted proxy with %p can sign in',
  async (headers) => {
    await using behind = disposable(await startDashboard({ TRUSTED_PROXIES: '127.0.0.0/8' }));
    const response = await fetch(`${behind.url}/api/sign-in`, {
      method: 'POST',
      headers: { Origin: behind.url.replace('http:', 'https:'), 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(signInBody),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('strict-transport-security')).toBe('max-age=63072000');
    expect(cookieOf(response)).toMatch(/^__Host-/);
  },
);
