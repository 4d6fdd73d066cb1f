import { describeWith, perSuite } from '@rms/testkit';
import type { Page, Route } from 'playwright-core';
import { Role, suiteWorld } from './support.ts';

describeWith('chromium', 'Optimistic updates', () => {
  let page: Page;
  let created: { webhook: string; resource: string };
  const world = suiteWorld({}, { translated: true });
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));
  beforeAll(async () => {
    const call = await world.apiCaller();
    const create = async (path: string, body: object) => (await call('POST', path, body)).id;
    created = {
      webhook: await create('/v1/webhooks', { url: 'http://127.0.0.1:47999/none', events: ['resource.deleted'] }),
      resource: await create('/v1/resources', { name: 'First' }),
    };
    page = await world.open(owner);
  });

  const goTo = (path: string) => page.goto(`/w/${world.workspaceId}/live${path}`);
  const badge = (text: string) => page.locator('.badge', { hasText: new RegExp(`^${text}$`) }).first();
  const refusal = {
    status: 503,
    contentType: 'application/json',
    headers: { 'X-Request-ID': 'req_refused' },
    body: JSON.stringify({
      error: { status: 503, code: 'service_unavailable', message: 'Try again.', request_id: 'req_refused' },
    }),
  };

  /** Holds back the next change to this address until `go` or `refuse` is called. */
  const holdBack = async (address: RegExp) => {
    let arrived: (route: Route) => void;
    const held = new Promise<Route>((resolve) => {
      arrived = resolve;
    });
    const handler = (route: Route) => (route.request().method() === 'GET' ? route.continue() : arrived(route));
    await page.route(address, handler);
    return {
      go: async () => {
        await (await held).continue();
        await page.unroute(address, handler);
      },
      refuse: async () => {
        await (await held).fulfill(refusal);
        await page.unroute(address, handler);
      },
    };
  };
  /** Waits for the error message with its request id, which stays until it is closed, and closes it. */
  const closeMessage = async (text: string) => {
    await page.getByText(text).waitFor();
    await page.getByRole('alert').getByText('req_refused').waitFor();
    await page.getByRole('button', { name: 'Close message' }).click();
    await page.getByText(text).waitFor({ state: 'detached' });
  };

  test.each<readonly [string, () => string, RegExp, readonly [string, string, string], string]>([
    [
      'disabling a webhook',
      () => `/webhooks/${created.webhook}`,
      /\/webhooks\/wh_[^/]+$/,
      ['Disable', 'Disabled', 'Active'],
      'The webhook was not changed.',
    ],
    [
      'archiving a resource',
      () => `/resources/${created.resource}`,
      /\/resources\/res_[^/]+$/,
      ['Archive', 'Archived', 'Active'],
      'The resource was not changed.',
    ],
    [
      'turning off an alert rule',
      () => '/settings/alerts',
      /\/alert_rules\/quota$/,
      ['Disable rule: Monthly quota', 'Disabled', 'Enabled'],
      'The rule was not changed.',
    ],
  ])('%s: shown immediately, reverted on an error, and kept on success', async (_, path, address, texts, message) => {
    const [action, after, before] = texts;
    await goTo(path());
    const press = async () => {
      await page.getByRole('button', { name: action, exact: true }).click();
      if (action === 'Disable') await page.getByRole('button', { name: 'Disable webhook' }).click();
    };
    const isChanged = () => badge(after).waitFor();

    const refused = await holdBack(address);
    await press();
    await isChanged();
    await refused.refuse();
    await badge(after).waitFor({ state: 'detached' });
    await badge(before).waitFor();
    await closeMessage(message);

    const done = await holdBack(address);
    await press();
    await isChanged();
    await done.go();
    await page.waitForLoadState('networkidle');
    await page.reload();
    await isChanged();
  });

  test('ending a session: shown immediately, reverted on an error, and kept on success', async () => {
    const other = await world.open(owner);
    await page.goto('/account');
    const end = page.getByRole('button', { name: /^End session/ });
    await end.first().waitFor();
    expect(await end.count()).toBe(1);
    const refused = await holdBack(/\/account\/sessions\/[^/]+$/);
    await end.click();
    await end.waitFor({ state: 'detached' });
    await refused.refuse();
    await end.waitFor();
    await closeMessage('The session was not ended.');
    await end.click();
    await page.getByText('Session ended.').waitFor();
    await other.goto('/account');
    await other.waitForURL(/\/sign-in/);
  });
});
