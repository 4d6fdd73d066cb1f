import { describeWith } from '@rms/testkit';
import type { Page, Route } from 'playwright-core';
import { Environment, openWorld, type Person, Role, type World } from './support.ts';

/** The whole service and a browser start meanwhile, beside another suite that does so. */
const startMs = 180_000;

describeWith('chromium', 'What is shown before the server has answered', () => {
  let world: World;
  let owner: Person;
  let page: Page;
  let made: { webhook: string; resource: string };
  beforeAll(async () => {
    world = await openWorld();
    owner = await world.person('owner', Role.OWNER);
    const key = await world.key(Environment.LIVE);
    const send = async (path: string, body: object) => {
      const answer = await fetch(world.standalone.liveUrl + path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      return ((await answer.json()) as { data: { id: string } }).data.id;
    };
    made = {
      webhook: await send('/v1/webhooks', { url: 'http://127.0.0.1:47999/none', events: ['resource.deleted'] }),
      resource: await send('/v1/resources', { name: 'First' }),
    };
    page = await world.open(owner);
  }, startMs);
  afterAll(() => world?.stop());
  afterEach(() => expect(world?.troubles.splice(0)).toEqual([]));

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

  /** Holds the next change of that address back until it is told how to go on. */
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
  /** The message with its reason, which stays until it is closed. */
  const closeMessage = async (text: string) => {
    await page.getByText(text).waitFor();
    await page.getByRole('alert').getByText('req_refused').waitFor();
    await page.getByRole('button', { name: 'Close the message' }).click();
    await page.getByText(text).waitFor({ state: 'detached' });
  };

  test.each<readonly [string, () => string, RegExp, readonly [string, string, string], string]>([
    [
      'a webhook that is disabled',
      () => `/webhooks/${made.webhook}`,
      /\/webhooks\/wh_[^/]+$/,
      ['Disable', 'Disabled', 'Active'],
      'The webhook is as it was.',
    ],
    [
      'a resource that is archived',
      () => `/resources/${made.resource}`,
      /\/resources\/res_[^/]+$/,
      ['Archive', 'Archived', 'Active'],
      'The resource is as it was.',
    ],
    [
      'a rule that is turned off',
      () => '/settings/alerts',
      /\/alerts\/rules\/quota$/,
      ['Turn off: Monthly quota', 'Off', 'On'],
      'The rule is as it was.',
    ],
  ])('%s: at once, back when it is refused, and for good when it is done', async (_, path, address, texts, message) => {
    const [action, after, before] = texts;
    await goTo(path());
    const button = page.getByRole('button', { name: action, exact: true });
    const isChanged = () => badge(after).waitFor();

    const refused = await holdBack(address);
    await button.click();
    await isChanged();
    await refused.refuse();
    await badge(after).waitFor({ state: 'detached' });
    await badge(before).waitFor();
    await closeMessage(message);

    const done = await holdBack(address);
    await button.click();
    await isChanged();
    await done.go();
    await page.waitForLoadState('networkidle');
    await page.reload();
    await isChanged();
  });

  test('a session that is ended', async () => {
    const other = await world.open(owner);
    await page.goto('/account');
    const end = page.getByRole('button', { name: /^End the session/ });
    await end.first().waitFor();
    expect(await end.count()).toBe(1);
    const refused = await holdBack(/\/account\/sessions\/[^/]+$/);
    await end.click();
    await end.waitFor({ state: 'detached' });
    await refused.refuse();
    await end.waitFor();
    await closeMessage('The session has not ended.');
    await end.click();
    await page.getByText('The session has ended.').waitFor();
    await other.goto('/account');
    await other.waitForURL(/\/sign-in/);
  });
});
