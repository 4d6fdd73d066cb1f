import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describeWith, waitUntil } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { type Filled, fill } from './fill.ts';
import { Environment, isTooWide, openWorld, Role, violations, type World } from './support.ts';

/** The whole service and a browser start meanwhile, beside another suite that does so. */
const startMs = 180_000;
const root = join(import.meta.dirname, '..', '..');
/** With DOCS_PICTURES=1, which is what `npm run docs:pictures` sets, they take the place of those in docs. */
const forDocs = Boolean(process.env.DOCS_PICTURES);
const folder = forDocs ? join(root, 'docs', 'images') : join(root, 'test-results', 'browser');
const largestBytes = 150_000;
const monthlyQuota = '1000000';

type Theme = 'light' | 'dark';

/** The pictures in docs: their pages below a workspace's live environment, theme and height. */
const pictures: readonly (readonly [name: string, path: string, theme: Theme, height: number])[] = [
  ['overview', '?span=day', 'light', 1_000],
  ['webhook', '/webhooks/{webhook}', 'dark', 1_230],
  ['delivery', '/deliveries/{delivery}', 'light', 1_080],
  ['keys', '/settings/keys', 'light', 560],
  ['alerts', '/settings/alerts', 'light', 900],
  ['request', '/requests?id={request}', 'light', 800],
];

describeWith('chromium', 'A workspace that is in use', () => {
  let world: World;
  let filled: Filled;
  let page: Page;
  let delivery = '';
  beforeAll(async () => {
    world = await openWorld({ MONTHLY_QUOTA: monthlyQuota });
    const ada = await world.person('Ada Lindqvist', Role.OWNER);
    await world.person('Jonas Weber', Role.ADMIN);
    await world.person('Priya Raman', Role.DEVELOPER);
    await world.person('Tom Ellis', Role.VIEWER);
    const { standalone, workspaceId } = world;
    const key = await world.key(Environment.LIVE);
    filled = await fill({ liveUrl: standalone.liveUrl, dataDir: standalone.dataDir, workspaceId, key });
    page = await world.open(ada);
    const failed = await waitUntil(
      async () => {
        await page.goto(`/w/${workspaceId}/live/deliveries?status=failed&webhook=${filled.failing}`);
        const link = page.getByRole('link', { name: /^resource\./ }).first();
        await link.or(page.getByText('No delivery matches')).waitFor();
        return (await link.count()) > 0 ? await link.getAttribute('href') : undefined;
      },
      { what: 'a delivery that has failed' },
    );
    delivery = failed.split('/').at(-1) ?? '';
  }, startMs);
  afterAll(async () => {
    await filled?.stop();
    await world?.stop();
  });
  afterEach(() => expect(world?.troubles.splice(0)).toEqual([]));

  const open = async (path: string) => {
    const { resource, request, key, retried: webhook } = filled;
    const made: Readonly<Record<string, string>> = { resource, request, key, webhook, delivery };
    const below = path.replace(/\{(\w+)\}/, (_, name: string) => made[name] ?? '');
    await page.goto(`/w/${world.workspaceId}/live${below}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
  };

  test.each(pictures)('%s: its picture in docs', async (name, path, theme, height) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width: 1280, height });
    await open(path);
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `dashboard-${name}-${theme}.png`);
    await page.screenshot({ path: file });
    // How large they are depends on the fonts of the machine.
    if (forDocs) expect(statSync(file).size).toBeLessThan(largestBytes);
  });

  test.each([
    ...pictures.map(([, path]) => path),
    '/deliveries',
    '/resources',
    '/resources/{resource}',
    '/settings/keys/{key}',
    '/settings/team',
    '/settings/audit',
    '/settings/limits',
    '/webhooks',
  ])('%s is clean for axe, and fits, however much there is', async (path) => {
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 360],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 860 });
      await open(path);
      expect([width, await violations(page)]).toEqual([width, []]);
      expect([width, await isTooWide(page)]).toEqual([width, false]);
      // Nor does a table stick out of its card.
      const sticking = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.card')].filter((card) => card.scrollWidth > card.clientWidth + 1).map((card) => card.textContent.slice(0, 60))`,
      );
      expect([width, sticking]).toEqual([width, []]);
    }
  });
});
