import { type Installation, newInstallation, npmStart, type Start } from './npm-start.ts';

describe('The dashboard of npm start', () => {
  let installation: Installation;
  let running: Start;
  let url: string;
  beforeAll(async () => {
    installation = await newInstallation();
    running = npmStart(installation.env);
    url = `http://127.0.0.1:${installation.env.DASHBOARD_PORT}`;
  });
  afterAll(async () => {
    running?.child.kill('SIGTERM');
    await running?.ended();
    installation?.remove();
  });

  test('serves its pages, and signs the owner in with the printed login', async () => {
    const { password } = await running.ready();
    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const [, script] = /<script[^>]* src="([^"]+)"/.exec(await page.text()) ?? [];
    expect((await fetch(new URL(script ?? '', url))).status).toBe(200);

    const signIn = await fetch(`${url}/api/sign-in`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: url, 'Sec-Fetch-Site': 'same-origin' },
      body: JSON.stringify({ email: 'owner@localhost', password }),
    });
    expect(signIn.status).toBe(200);
    const [cookie = ''] = signIn.headers.getSetCookie();
    const account = await fetch(`${url}/api/account`, { headers: { Cookie: cookie.split(';')[0] ?? '' } });
    expect(await account.json()).toMatchObject({ user: { email: 'owner@localhost' } });
    expect((await fetch(`${url}/api/account`)).status).toBe(401);
  });
});
