import { describeWith, perSuite, startReceiver, waitUntil } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { Role, suiteWorld, violations } from './support.ts';

describeWith('chromium', 'The live tail in a browser', () => {
  let call: Awaited<ReturnType<typeof world.apiCaller>>;
  const world = suiteWorld({}, { translated: true });
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));
  const receiver = perSuite(startReceiver);
  beforeAll(async () => {
    call = await world.apiCaller();
    await call('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] });
  });

  /** Returns the request ID. */
  const create = async (name: string) => (await call('POST', '/v1/resources', { name })).requestId;
  const watch = async (page: Page, filter = '') => {
    await page.goto(`/w/${world.workspaceId}/live/deliveries?live=1${filter}`);
    await page.getByText('New deliveries appear immediately').waitFor();
  };
  const rowsOf = (page: Page) => page.getByRole('table', { name: 'Deliveries' }).getByRole('row');

  test('shows deliveries as they happen to several viewers, each with its own filter, over one stream', async () => {
    const [all, failed] = [await world.open(owner), await world.open(owner)];
    const streams: string[] = [];
    all.on('request', (request) => {
      if (request.url().includes('/deliveries/tail')) streams.push(request.url());
    });
    await watch(all);
    await watch(failed, '&status=retrying');
    receiver.respondWith(500);
    await create('first');
    await rowsOf(all).getByText('Retrying').waitFor();
    await rowsOf(failed).getByText('Retrying').waitFor();
    receiver.respondWith(200);
    await create('second');
    await rowsOf(all).getByText('Delivered').waitFor();
    // Only the failed delivery matches the filter.
    expect(await rowsOf(failed).count()).toBe(2);
    expect(await rowsOf(all).count()).toBe(3);
    expect(streams).toHaveLength(1);
    expect(await violations(all)).toEqual([]);
  });

  test('closes while the page is hidden, then shows the deliveries made meanwhile', async () => {
    const page = await world.open(owner);
    await watch(page);
    await rowsOf(page).getByRole('link').first().waitFor();
    const before = await rowsOf(page).count();
    const turn = (state: 'hidden' | 'visible') =>
      page.evaluate(`(() => {
        Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
        document.dispatchEvent(new Event('visibilitychange'));
      })()`);
    await turn('hidden');
    await page.getByText('Polling every 2 s').waitFor();
    await create('meanwhile');
    await turn('visible');
    await page.getByText('New deliveries appear immediately').waitFor();
    await rowsOf(page).nth(before).waitFor();
    expect(await rowsOf(page).count()).toBe(before + 1);
    // Events that occur later also arrive.
    await create('after');
    await rowsOf(page)
      .nth(before + 1)
      .waitFor();
  });

  test('the page of a delivery polls until the delivery has ended or is canceled, and again after a redelivery', async () => {
    const page = await world.open(owner);
    await page.clock.install();
    let polls = 0;
    page.on('request', (request) => {
      if (/\/deliveries\/dlv_\w+$/.test(request.url())) polls += 1;
    });
    /** Returns the number of polls in a minute of the page's clock. */
    const pollsInMinute = async () => {
      const before = polls;
      await page.clock.runFor(60_000);
      // Requests are reported in order, so the polls are reported before this one.
      await page.evaluate("fetch('/api/account')");
      return polls - before;
    };
    /** Waits for a poll. None begins while the request before it has no response. */
    const pollsAgain = () => waitUntil(async () => (await pollsInMinute()) > 0, { what: 'a poll of the delivery' });
    const badge = (text: string) => page.locator('.badge', { hasText: new RegExp(`^${text}$`) }).first();
    receiver.respondWith(500);
    await watch(page, `&request=${await create('failing')}`);
    await rowsOf(page).getByRole('link').click();
    await badge('Retrying').waitFor();
    await pollsAgain();

    receiver.respondWith(200);
    await page.getByRole('button', { name: 'Redeliver' }).click();
    await badge('Delivered').waitFor();
    expect(await pollsInMinute()).toBe(0);

    receiver.respondWith(500);
    await page.getByRole('button', { name: 'Redeliver' }).click();
    await badge('Retrying').waitFor();
    await pollsAgain();

    await page.getByRole('button', { name: 'Cancel' }).click();
    await badge('Canceled').waitFor();
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
    expect(await pollsInMinute()).toBe(0);
  });

  test('ends with the session and redirects to the sign-in page', async () => {
    const page = await world.open(owner);
    await watch(page);
    const other = await page.context().newPage();
    await other.goto(`/w/${world.workspaceId}/live`);
    await other.getByRole('link', { name: 'Sign out' }).click();
    await other.waitForURL(/\/sign-in/);
    await page.waitForURL(/\/sign-in/, { timeout: 30_000 });
  });
});
