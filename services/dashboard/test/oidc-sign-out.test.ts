import { dashboardUrl, type OidcScene, startOidcScene } from './oidc-support.ts';
import type { TestDashboard } from './support.ts';

let oidc: OidcScene;
beforeAll(async () => {
  oidc = await startOidcScene();
});
beforeEach(() => oidc.reset());
afterAll(() => oidc?.stop());

/** Returns a browser that keeps cookies. */
function newBrowser(at: TestDashboard) {
  const cookies = new Map<string, string>();
  const send = async (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const headers = { Origin: dashboardUrl, 'Content-Type': 'application/json', Cookie: cookie, ...init.headers };
    const response = await fetch(at.url + path, { redirect: 'manual', ...init, headers });
    for (const set of response.headers.getSetCookie()) {
      const [pair = ''] = set.split(';');
      const [name = '', value = ''] = pair.split('=');
      if (set.includes('Max-Age=0')) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  const start = async (query = '') => {
    const response = await send(`/api/oidc/start${query}`);
    return new URL(response.headers.get('location') ?? '').searchParams;
  };
  return {
    send,
    start,
    /** Signs in at the provider. Returns the page that the browser is redirected to. */
    async signIn(query = '') {
      const requested = await start(query);
      oidc.claims = { email: 'person@example.com', email_verified: true, nonce: requested.get('nonce') };
      const given = new URLSearchParams({ code: 'code-1', state: requested.get('state') ?? '' });
      return (await send(`/api/oidc/callback?${given}`)).headers.get('location');
    },
    /** Signs out. Returns the URL at the provider that ends the session there. */
    async signOut() {
      const { csrf_token: token } = (await (await send('/api/account')).json()) as { csrf_token: string };
      const response = await send('/api/account/sign-out', { method: 'POST', headers: { 'X-CSRF-Token': token } });
      expect((await send('/api/account')).status).toBe(401);
      return response.status === 204 ? undefined : new URL(((await response.json()) as { url: string }).url);
    },
  };
}

const withEnd = () => ({ end_session_endpoint: `${oidc.issuer}/logout` });

test('after a sign-out, the next sign-in asks to choose an account, once', async () => {
  oidc.metadata = withEnd();
  const browser = newBrowser(oidc.dashboard);
  await browser.signIn();
  expect(await browser.signOut()).toBe(undefined);
  expect((await browser.start()).get('prompt')).toBe('select_account');
  await browser.signIn();
  expect((await browser.start()).get('prompt')).toBe(null);
});

test('a provider that cannot ask to choose an account asks for the credentials', async () => {
  oidc.metadata = { prompt_values_supported: ['none', 'login'] };
  const other = await oidc.startWith({});
  const browser = newBrowser(other);
  await browser.signIn();
  await browser.signOut();
  expect((await browser.start()).get('prompt')).toBe('login');
  await other.stop();
});

describe('With OIDC_SIGN_OUT', () => {
  test('a sign-out ends the session at the provider, also after a change of the password', async () => {
    oidc.metadata = withEnd();
    const other = await oidc.startWith({ OIDC_SIGN_OUT: 'true' });
    const browser = newBrowser(other);
    await browser.signIn();
    const url = await browser.signOut();
    expect(url && url.origin + url.pathname).toBe(`${oidc.issuer}/logout`);
    expect(url?.searchParams.get('post_logout_redirect_uri')).toBe(`${dashboardUrl}/sign-in`);
    expect(url?.searchParams.get('id_token_hint')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect((await browser.start()).get('prompt')).toBe(null);

    await browser.signIn();
    const { csrf_token: token } = (await (await browser.send('/api/account')).json()) as { csrf_token: string };
    await browser.send('/api/account/sessions/end-others', { method: 'POST', headers: { 'X-CSRF-Token': token } });
    expect((await browser.signOut())?.searchParams.get('id_token_hint')).toMatch(/^[\w-]+\./);
    await other.stop();
  });

  test('of a provider without an end session endpoint, the next sign-in asks to choose an account', async () => {
    const other = await oidc.startWith({ OIDC_SIGN_OUT: 'true' });
    const browser = newBrowser(other);
    await browser.signIn();
    expect(await browser.signOut()).toBe(undefined);
    expect((await browser.start()).get('prompt')).toBe('select_account');
    await other.stop();
  });

  test('a session that began with a password ends without the provider', async () => {
    oidc.metadata = withEnd();
    const other = await oidc.startWith({ OIDC_SIGN_OUT: 'true' });
    const browser = newBrowser(other);
    const body = JSON.stringify({ email: 'person@example.com', password: 'right password' });
    expect((await browser.send('/api/sign-in', { method: 'POST', body })).status).toBe(200);
    expect(await browser.signOut()).toBe(undefined);
    await other.stop();
  });
});

test('an invitation that the sign-in accepts leads to its workspace', async () => {
  oidc.joined = 'ws_joined';
  const browser = newBrowser(oidc.dashboard);
  expect(await browser.signIn('?next=/invitation&invitation=inv_1')).toBe('/w/ws_joined/live');
  const verified = oidc.dashboard.recorded.findLast(({ method }) => method === 'verifyIdentity');
  expect(verified?.request).toMatchObject({ email: 'person@example.com', emailVerified: true, invitationId: 'inv_1' });
  await browser.signIn('?invitation=not%20an%20ID');
  expect(oidc.dashboard.recorded.findLast(({ method }) => method === 'verifyIdentity')?.request).not.toHaveProperty(
    'invitationId',
  );
});
