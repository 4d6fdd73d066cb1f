import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describeWith, waitUntil } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { type Filled, fill } from './fill.ts';
import { Environment, isTooWide, openWorld, Role, violations, type World } from './support.ts';

/** Time limit for starting all services and a browser, possibly while another suite starts them too. */
const startMs = 180_000;
const root = join(import.meta.dirname, '..', '..');
/** With DOCS_PICTURES=1, which `npm run docs:pictures` sets, the screenshots replace those in docs. */
const forDocs = Boolean(process.env.DOCS_PICTURES);
const folder = forDocs ? join(root, 'docs', 'images') : join(root, 'test-results', 'browser');
const maxBytes = 160_000;
const monthlyQuota = '1000000';

type Theme = 'light' | 'dark';

/** Screenshots in docs: page below a workspace's live environment, theme and height. */
const pictures: readonly (readonly [name: string, path: string, theme: Theme, height: number])[] = [
  ['overview', '?span=day', 'light', 1_000],
  ['webhook', '/webhooks/{webhook}', 'dark', 1_230],
  ['delivery', '/deliveries/{delivery}', 'light', 1_080],
  ['keys', '/settings/keys', 'light', 560],
  ['alerts', '/settings/alerts', 'light', 900],
  ['request', '/requests?id={request}', 'light', 800],
];

describeWith('chromium', 'A workspace in use', () => {
  let world: World;
  let filled: Filled;
  let page: Page;
  let delivery = '';
  beforeAll(async () => {
    world = await openWorld({ MONTHLY_QUOTA: monthlyQuota });
    const ada = await world.newUser('Ada Lindqvist', Role.OWNER);
    await world.newUser('Jonas Weber', Role.ADMIN);
    await world.newUser('Priya Raman', Role.DEVELOPER);
    await world.newUser('Tom Ellis', Role.VIEWER);
    const { standalone, workspaceId } = world;
    const key = await world.key(Environment.LIVE);
    filled = await fill({ liveUrl: standalone.liveUrl, dataDir: standalone.dataDir, workspaceId, key });
    page = await world.open(ada);
    const failed = await waitUntil(
      async () => {
        await page.goto(`/w/${workspaceId}/live/deliveries?status=failed&webhook=${filled.failing}`);
        const link = page.getByRole('link', { name: /^resource\./ }).first();
        await link.or(page.getByText('No matching deliveries')).waitFor();
        return (await link.count()) > 0 ? await link.getAttribute('href') : undefined;
      },
      { what: 'a failed delivery' },
    );
    delivery = failed.split('/').at(-1) ?? '';
  }, startMs);
  afterAll(async () => {
    await filled?.stop();
    await world?.stop();
  });
  afterEach(() => expect(world?.consoleErrors.splice(0)).toEqual([]));

  const open = async (path: string) => {
    const { resource, request, key, retried: webhook } = filled;
    const created: Readonly<Record<string, string>> = { resource, request, key, webhook, delivery };
    const below = path.replace(/\{(\w+)\}/, (_, name: string) => created[name] ?? '');
    await page.goto(`/w/${world.workspaceId}/live${below}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
  };

  test.each(pictures)('%s: its screenshot in docs', async (name, path, theme, height) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width: 1280, height });
    await open(path);
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `dashboard-${name}-${theme}.png`);
    await page.screenshot({ path: file });
    // File sizes depend on the machine's fonts.
    if (forDocs) expect(statSync(file).size).toBeLessThan(maxBytes);
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
  ])('%s has no axe violations and fits the screen with much data', async (path) => {
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 360],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 860 });
      await open(path);
      expect([width, await violations(page)]).toEqual([width, []]);
      expect([width, await isTooWide(page)]).toEqual([width, false]);
      // Tables must not overflow their card either.
      const sticking = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.card')].filter((card) => card.scrollWidth > card.clientWidth + 1).map((card) => card.textContent.slice(0, 60))`,
      );
      expect([width, sticking]).toEqual([width, []]);
    }
  });
});
