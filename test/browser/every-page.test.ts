import { describeWith, perSuite, startReceiver } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { isTooWide, keepPicture, Role, suiteWorld, violations } from './support.ts';

/** Paths below a workspace and environment; `{…}` stands for an id created in beforeAll. */
const pages = {
  overview: '',
  resources: '/resources',
  resource: '/resources/{resource}',
  webhooks: '/webhooks',
  'new-webhook': '/webhooks/new',
  webhook: '/webhooks/{webhook}',
  deliveries: '/deliveries',
  delivery: '/deliveries/{delivery}',
  events: '/events',
  event: '/events/{event}',
  requests: '/requests',
  request: '/requests?id={request}',
  keys: '/settings/keys',
  alerts: '/settings/alerts',
  team: '/settings/team',
  limits: '/settings/limits',
  audit: '/settings/audit',
} as const;

describeWith('chromium', 'Every page', () => {
  let created: Record<string, string>;
  let page: Page;

  const world = suiteWorld();
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));
  const receiver = perSuite(startReceiver);
  beforeAll(async () => {
    const call = await world.apiCaller();
    const webhook = await call('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] });
    const resource = await call('POST', '/v1/resources', { name: 'First', metadata: { team: 'blue' } });
    await receiver.waitFor(() => true, 'the delivery');
    page = await world.open(owner);
    await page.goto(`/w/${world.workspaceId}/live/deliveries`);
    const link = page.getByRole('link', { name: 'resource.created' });
    const delivery = (await link.getAttribute('href'))?.split('/').at(-1) ?? '';
    await page.goto(`/w/${world.workspaceId}/live/events`);
    const ofEvent = page.getByRole('link', { name: 'resource.created' });
    const event = (await ofEvent.getAttribute('href'))?.split('/').at(-1) ?? '';
    created = { webhook: webhook.id, resource: resource.id, request: resource.requestId, delivery, event };
  });

  const open = async (path: string) => {
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    // An alert would mean that the page shows an error instead of its content.
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
  };
  const pathOf = (path: string, environment = 'live') =>
    `/w/${world.workspaceId}/${environment}${path.replace(/\{(\w+)\}/, (_, name: string) => created[name] ?? '')}`;

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    beforeEach(() => page.emulateMedia({ colorScheme }));

    test.each(Object.entries(pages))('%s: axe finds no violations', async (name, path) => {
      await page.setViewportSize({ width: 1280, height: 860 });
      await open(pathOf(path));
      expect(await violations(page)).toEqual([]);
      await keepPicture(page, `${name}-${colorScheme}`);
    });

    test('empty states, the sandbox, the account: axe finds no violations', async () => {
      await page.setViewportSize({ width: 1280, height: 860 });
      for (const path of [pathOf('/webhooks', 'sandbox'), pathOf('/deliveries', 'sandbox'), '/account', '/none/such']) {
        await open(path);
        expect([path, await violations(page)]).toEqual([path, []]);
      }
    });

    test('dialogs and pages before sign-in: axe finds no violations', async () => {
      await open(pathOf('/settings/keys'));
      await page.getByRole('button', { name: 'Create key' }).first().click();
      expect(await violations(page)).toEqual([]);
      const outsider = await world.open();
      await outsider.emulateMedia({ colorScheme });
      for (const path of ['/sign-in', '/forgot-password', '/password-reset#x', '/invitation#x']) {
        await outsider.goto(path);
        await outsider.getByRole('heading', { level: 1 }).waitFor();
        expect([path, await violations(outsider)]).toEqual([path, []]);
      }
      await keepPicture(outsider, `invitation-${colorScheme}`);
    });
  });

  // Also the width of a page of 640 pixels at a zoom of 200 %.
  test.each(Object.entries(pages))('%s fits 320 pixels', async (name, path) => {
    await page.setViewportSize({ width: 320, height: 640 });
    await open(pathOf(path));
    expect(await isTooWide(page)).toBe(false);
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, `${name}-320`);
  });

  test.each([
    ['/resources', 'Create resource'],
    ['/resources/{resource}', 'Edit'],
    ['/resources/{resource}', 'Delete'],
    ['/webhooks/{webhook}', 'Edit'],
    ['/webhooks/{webhook}', 'Rotate secret'],
    ['/webhooks/{webhook}', 'Send test event'],
    ['/webhooks/{webhook}', 'Delete'],
    ['/deliveries', 'Redeliver all failed'],
    ['/settings/keys', 'Create key'],
    ['/settings/alerts', 'Edit rule: Monthly quota'],
    ['/settings/alerts', 'Add channel'],
    ['/settings/team', 'Invite member'],
  ])('on %s, each control of the dialog "%s" is in a view of 320 by 400 pixels', async (path, name) => {
    await page.setViewportSize({ width: 320, height: 400 });
    await open(pathOf(path));
    await page.getByRole('button', { name, exact: true }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    for (const control of await dialog.locator('button, input, select, textarea').all()) {
      await control.scrollIntoViewIfNeeded();
      const box = await control.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(320);
      expect(box?.y).toBeGreaterThanOrEqual(0);
      expect((box?.y ?? 0) + Math.min(box?.height ?? 0, 100)).toBeLessThanOrEqual(400);
    }
    expect(await isTooWide(page)).toBe(false);
  });

  test('the keyboard can skip the menu, open a dialog, and return to the button that opened it', async () => {
    await page.setViewportSize({ width: 1280, height: 860 });
    await open(pathOf('/settings/keys'));
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Create key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect(await page.evaluate('document.activeElement.getAttribute("name")')).toBe('name');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Create key');
  });

  test('on a narrow screen the menu opens, navigates and closes', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await open(pathOf(''));
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Webhooks' }).first().click();
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
    await page.getByRole('link', { name: 'Delivery logs' }).waitFor({ state: 'hidden' });
  });
});
