import { describeWith } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { type Filled, fill } from './fill.ts';
import { Environment, Role, suiteWorld } from './support.ts';

/** Pages below a workspace's live environment. */
const pages = [
  '',
  '/resources',
  '/resources/{resource}',
  '/webhooks',
  '/webhooks/new',
  '/webhooks/{webhook}',
  '/deliveries',
  '/requests',
  '/requests?id={request}',
  '/settings/keys',
  '/settings/keys/{key}',
  '/settings/alerts',
  '/settings/team',
  '/settings/limits',
  '/settings/audit',
] as const;

/** Script that returns the texts that are not translated. */
const untranslated = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (data.trim() !== '' && !parentElement.closest('font, svg, textarea, script, [translate=no]')) found.push(data);
  }
  return found;
})()`;

describeWith('chromium', 'A page that the browser translates', () => {
  let filled: Filled;
  let page: Page;
  afterAll(() => filled?.stop());
  const world = suiteWorld({}, { translated: true });
  beforeAll(async () => {
    const { standalone, workspaceId } = world;
    const key = await world.key(Environment.LIVE);
    filled = await fill({ liveUrl: standalone.liveUrl, dataDir: standalone.dataDir, workspaceId, key });
    page = await world.open(await world.newUser('owner', Role.OWNER));
  });

  const open = async (path: string) => {
    const below = path.replace(/\{(\w+)\}/, (_, name: keyof Filled) => String(filled[name]));
    await page.goto(`/w/${world.workspaceId}/live${below}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
  };

  test.each(pages)('%s follows the pointer, tabs, and changes of its data', async (path) => {
    await open(path);
    expect(await page.evaluate(untranslated)).toEqual([]);
    for (const chart of await page.locator('.chart-plot').all()) {
      for (const x of [5, 60, 120]) await chart.hover({ position: { x, y: 20 } });
      await page.mouse.move(0, 0);
    }
    for (const tab of await page.getByRole('tab').all()) await tab.click();
    for (const summary of await page.locator('summary').all()) await summary.click();
    // Loads all data of the page again, as a change in another tab does.
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
    await page.getByRole('heading', { level: 1 }).waitFor();
  });

  test('shows the current number of selected deliveries', async () => {
    await open('/deliveries');
    const boxes = page.getByRole('checkbox', { name: /^Select dlv_/ });
    for (const count of [1, 2, 3]) {
      await boxes.nth(count).check();
      await page.getByRole('button', { name: `Redeliver ${count} selected` }).waitFor();
    }
    await boxes.nth(1).uncheck();
    await page.getByRole('button', { name: 'Redeliver 2 selected' }).waitFor();
    await page.getByRole('checkbox', { name: 'Select all' }).check();
    await page.getByRole('checkbox', { name: 'Select all' }).uncheck();
    await page.getByRole('button', { name: /selected/ }).waitFor({ state: 'detached' });
  });

  test('switches the span, the page and the environment', async () => {
    await open('');
    for (const span of ['Day', 'Month', 'Hour']) {
      await page.getByRole('link', { name: span, exact: true }).click();
      await page.waitForLoadState('networkidle');
      await page.locator('.chart-plot').first().hover();
      await page.locator('.chart-plot').last().hover();
    }
    for (const name of ['Webhooks', 'Delivery logs', 'Resources', 'API keys', 'Audit log', 'Overview']) {
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).first().click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }
    await page.getByRole('link', { name: 'Sandbox' }).click();
    await page.getByText('Sandbox: test data').waitFor();
    await page.getByRole('link', { name: 'Live', exact: true }).click();
    await page.getByText('Sandbox: test data').waitFor({ state: 'detached' });
  });
});
