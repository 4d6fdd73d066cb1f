import { newId } from '@rms/base/ids';
import { perTest } from '@rms/testkit';
import type { AccountDocument } from '../src/documents/account.ts';
import { ApiError, call, renewSession, setSession } from '../web/src/api/client.ts';
import { ownWorkspace, startDashboard } from './support.ts';

const { fetch } = globalThis;
const path = `/api/workspaces/${ownWorkspace}/live/webhooks/${newId('wh')}`;

describe('an older page after the browser has signed in again', () => {
  /** Cookie of the browser, which all its tabs share. */
  let cookie = '';
  /** Calls that the page has sent. */
  let sent: string[];

  afterEach(async () => {
    globalThis.fetch = fetch;
  });
  const dashboard = perTest(startDashboard);
  beforeEach(async () => {
    sent = [];
    globalThis.fetch = (url, init = {}) => {
      // Only pages use relative URLs.
      if (!String(url).startsWith('/')) return fetch(url, init);
      sent.push(`${init.method} ${String(url)}`);
      const headers = { ...(init.headers as Record<string, string>), Cookie: cookie, Origin: dashboard.url };
      return fetch(`${dashboard.url}${String(url)}`, { ...init, headers });
    };
    ({ cookie } = await dashboard.signIn());
    setSession(await call<AccountDocument>('/api/account'));
    sent = [];
  });

  const deleted = () => dashboard.recorded.filter(({ method }) => method === 'deleteWebhook').length;
  const failureOf = (action: Promise<unknown>) =>
    action.then(
      () => undefined,
      (error: unknown) => (error instanceof ApiError ? [error.status, error.code] : error),
    );

  test('changes data in the new session, once', async () => {
    ({ cookie } = await dashboard.signIn({ cookie }));
    await call(path, { method: 'DELETE' });
    expect(sent).toEqual([`DELETE ${path}`, 'GET /api/account', `DELETE ${path}`]);
    expect(deleted()).toBe(1);
    await call(path, { method: 'DELETE' });
    expect(sent).toHaveLength(4);
  });

  test('changes nothing while the browser is signed out, and continues after it has signed in', async () => {
    cookie = '';
    expect(await failureOf(call(path, { method: 'DELETE' }))).toEqual([401, 'not_signed_in']);
    ({ cookie } = await dashboard.signIn());
    await call(path, { method: 'DELETE' });
    expect(deleted()).toBe(1);
  });

  test('changes nothing as another user', async () => {
    dashboard.account.userId = 'usr_2';
    ({ cookie } = await dashboard.signIn({ cookie }));
    expect(await failureOf(call(path, { method: 'DELETE' }))).toEqual([403, 'other_user']);
    expect(await failureOf(renewSession())).toEqual([403, 'other_user']);
    expect(deleted()).toBe(0);
    dashboard.account.userId = 'usr_1';
    ({ cookie } = await dashboard.signIn({ cookie }));
    await call(path, { method: 'DELETE' });
    expect(deleted()).toBe(1);
  });
});
