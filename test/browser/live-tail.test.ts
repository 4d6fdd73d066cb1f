import { describeWith, type Receiver, startReceiver } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { Environment, openWorld, type Person, Role, violations, type World } from './support.ts';

/** The whole service and a browser start meanwhile, beside another suite that does so. */
const startMs = 180_000;

describeWith('chromium', 'The live tail in a browser', () => {
  let world: World;
  let owner: Person;
  let receiver: Receiver;
  let key: string;
  beforeAll(async () => {
    world = await openWorld();
    owner = await world.person('owner', Role.OWNER);
    receiver = await startReceiver();
    key = await world.key(Environment.LIVE);
    await send('/v1/webhooks', { url: receiver.url, events: ['*'] });
  }, startMs);
  afterAll(async () => {
    await receiver?.close();
    await world?.stop();
  });
  afterEach(() => expect(world?.troubles.splice(0)).toEqual([]));

  const send = async (path: string, body: object) => {
    const answer = await fetch(world.standalone.liveUrl + path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(201);
  };
  const watch = async (page: Page, filter = '') => {
    await page.goto(`/w/${world.workspaceId}/live/deliveries?live=1${filter}`);
    await page.getByText('New ones show as they come').waitFor();
  };
  const rowsOf = (page: Page) => page.getByRole('table', { name: 'Deliveries' }).getByRole('row');

  test('shows what happens as it comes, to all who look, each by its filters, without asking again', async () => {
    const [all, failed] = [await world.open(owner), await world.open(owner)];
    const streams: string[] = [];
    all.on('request', (request) => {
      if (request.url().includes('/deliveries/tail')) streams.push(request.url());
    });
    await watch(all);
    await watch(failed, '&status=retrying');
    receiver.respondWith(500);
    await send('/v1/resources', { name: 'first' });
    await rowsOf(all).getByText('Retrying').waitFor();
    await rowsOf(failed).getByText('Retrying').waitFor();
    receiver.respondWith(200);
    await send('/v1/resources', { name: 'second' });
    await rowsOf(all).getByText('Delivered').waitFor();
    // The one that failed is the one that the filter wants.
    expect(await rowsOf(failed).count()).toBe(2);
    expect(await rowsOf(all).count()).toBe(3);
    expect(streams).toHaveLength(1);
    expect(await violations(all)).toEqual([]);
  });

  test('is closed while nobody looks, and goes on with what happened meanwhile', async () => {
    const page = await world.open(owner);
    await watch(page);
    const before = await rowsOf(page).count();
    const turn = (state: 'hidden' | 'visible') =>
      page.evaluate(`(() => {
        Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
        document.dispatchEvent(new Event('visibilitychange'));
      })()`);
    await turn('hidden');
    await page.getByText('Asking every 2 s').waitFor();
    await send('/v1/resources', { name: 'meanwhile' });
    await turn('visible');
    await page.getByText('New ones show as they come').waitFor();
    await rowsOf(page).nth(before).waitFor();
    expect(await rowsOf(page).count()).toBe(before + 1);
    // And with what comes from then on.
    await send('/v1/resources', { name: 'after' });
    await rowsOf(page)
      .nth(before + 1)
      .waitFor();
  }, 60_000);

  test('ends with the session, and leads to where one signs in', async () => {
    const page = await world.open(owner);
    await watch(page);
    const other = await page.context().newPage();
    await other.goto(`/w/${world.workspaceId}/live`);
    await other.getByRole('link', { name: 'Sign out' }).click();
    await other.waitForURL(/\/sign-in/);
    await page.waitForURL(/\/sign-in/, { timeout: 30_000 });
  }, 60_000);
});
