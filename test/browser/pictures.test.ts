import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describeWith, waitUntil } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { type Filled, fill } from './fill.ts';
import { Environment, isTooWide, keepPicture, Role, suiteWorld, violations } from './support.ts';

const root = join(import.meta.dirname, '..', '..');
/** With DOCS_PICTURES=1, which `npm run docs:pictures` sets, the screenshots replace those in docs. */
const forDocs = Boolean(process.env.DOCS_PICTURES);
const folder = forDocs ? join(root, 'docs', 'images') : join(root, 'test-results', 'browser');
const maxBytes = 160_000;
const monthlyQuota = '1000000';

type Theme = 'light' | 'dark';

/** Screenshots in docs: page below a workspace's live environment, theme and height. */
const pictures: readonly (readonly [name: string, path: string, theme: Theme, height: number])[] = [
  ['overview', '?span=day', 'light', 1_020],
  ['webhook', '/webhooks/{webhook}', 'dark', 1_110],
  ['delivery', '/deliveries/{delivery}', 'light', 1_050],
  ['keys', '/settings/keys', 'light', 560],
  ['alerts', '/settings/alerts', 'light', 770],
  ['requests', '/requests', 'light', 900],
  ['request', '/requests?id={request}', 'light', 800],
];

/** Script that returns the labels of charts that leave their card or intersect another label of their chart. */
const misplacedLabels = `[...document.querySelectorAll('.chart, .schedule, figure')].flatMap((figure) => {
  const card = figure.closest('.card').getBoundingClientRect();
  const labels = [...figure.querySelectorAll('span, p, text')]
    .filter((label) => label.textContent.trim() !== '' && !label.querySelector('span'))
    .map((label) => {
      const range = document.createRange();
      range.selectNodeContents(label);
      return { text: label.textContent, box: range.getBoundingClientRect() };
    });
  const cut = labels.filter(({ box }) => box.left < card.left || box.right > card.right);
  const covered = labels.filter(({ box }, i) =>
    labels.slice(0, i).some(({ box: other }) =>
      box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom));
  return [...cut.map(({ text }) => 'cut: ' + text), ...covered.map(({ text }) => 'covered: ' + text)];
})`;

/** Script that returns the beginning of the text of cards and tables that are wider than the space they have. */
const overflowing = `[...document.querySelectorAll('.card, :has(> table)')]
  .filter((box) => box.scrollWidth > box.clientWidth + 1)
  .map((box) => box.textContent.slice(0, 60))`;

describeWith('chromium', 'A workspace in use', () => {
  let filled: Filled;
  let page: Page;
  let delivery = '';
  afterAll(() => filled?.stop());
  const world = suiteWorld({ MONTHLY_QUOTA: monthlyQuota });
  beforeAll(async () => {
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
  });

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

  const pages = [
    ...pictures.map(([, path]) => path),
    '/deliveries',
    '/resources',
    '/resources/{resource}',
    '/settings/keys/{key}',
    '/settings/team',
    '/settings/audit',
    '/settings/limits',
    '/webhooks',
  ];
  const expectToFit = async (width: number) => {
    expect([width, await isTooWide(page)]).toEqual([width, false]);
    expect([width, await page.evaluate<string[]>(overflowing)]).toEqual([width, []]);
  };

  test.each(pages)('%s has no axe violations and fits the screen with much data', async (path) => {
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 360],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 860 });
      await open(path);
      expect([width, await violations(page)]).toEqual([width, []]);
      await expectToFit(width);
    }
  });

  test.each([1_024, 1_200])('no table overflows at a width of %i pixels', async (width) => {
    await page.setViewportSize({ width, height: 860 });
    let tables = 0;
    for (const path of pages) {
      await open(path);
      await expectToFit(width);
      tables += await page.getByRole('table').count();
    }
    await page.goto('/account');
    await page.getByRole('table').first().waitFor();
    await expectToFit(width);
    expect(tables).toBeGreaterThanOrEqual(10);
  });

  test.each(['light', 'dark'] as const)(
    'on a phone (%s), no label of a chart is cut or covers another one, and a touch shows values',
    async (colorScheme) => {
      const context = await page
        .context()
        .browser()
        ?.newContext({
          baseURL: world.origin,
          viewport: { width: 360, height: 740 },
          hasTouch: true,
          colorScheme,
          storageState: await page.context().storageState(),
        });
      const phone = await context?.newPage();
      if (!context || !phone) throw new Error('there is no browser');
      for (const [name, path] of [
        ['hour', ''],
        ['day', '?span=day'],
        ['month', '?span=month'],
        ['webhook', `/webhooks/${filled.retried}`],
        ['delivery', `/deliveries/${delivery}`],
      ] as const) {
        await phone.goto(`/w/${world.workspaceId}/live${path}`);
        await phone.locator('.chart, .schedule, .split').first().waitFor();
        await phone.waitForLoadState('networkidle');
        await keepPicture(phone, `phone-${name}-${colorScheme}`);
        expect([name, await phone.evaluate<string[]>(misplacedLabels)]).toEqual([name, []]);
      }
      await phone.goto(`/w/${world.workspaceId}/live?span=day`);
      const chart = phone.getByRole('img', { name: /^Requests:/ });
      await chart.tap();
      const values = phone.getByRole('figure').filter({ has: chart });
      await values.locator('.chart-tip').getByText('successful').waitFor();
      await keepPicture(phone, `phone-touched-${colorScheme}`);
      expect(await phone.evaluate<string[]>(misplacedLabels)).toEqual([]);
      await context.close();
    },
  );
});
