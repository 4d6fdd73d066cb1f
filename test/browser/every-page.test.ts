import { describeWith, type Receiver, startReceiver } from '@rms/testkit';
import type { Page } from 'playwright-core';
import {
  Environment,
  isTooWide,
  keepPicture,
  openWorld,
  type Person,
  Role,
  startMs,
  violations,
  type World,
} from './support.ts';

/** Below a workspace and environment; `{…}` is what was made before. */
const pages = {
  overview: '',
  resources: '/resources',
  resource: '/resources/{resource}',
  webhooks: '/webhooks',
  'new-webhook': '/webhooks/new',
  webhook: '/webhooks/{webhook}',
  deliveries: '/deliveries',
  delivery: '/deliveries/{delivery}',
  requests: '/requests?id={request}',
  keys: '/settings/keys',
  alerts: '/settings/alerts',
  team: '/settings/team',
  limits: '/settings/limits',
  audit: '/settings/audit',
} as const;

describeWith('chromium', 'Every page', () => {
  let world: World;
  let owner: Person;
  let receiver: Receiver;
  let made: Record<string, string>;
  let page: Page;

  beforeAll(async () => {
    world = await openWorld();
    owner = await world.person('owner', Role.OWNER);
    receiver = await startReceiver();
    const key = await world.key(Environment.LIVE);
    const send = async (path: string, body: object) => {
      const answer = await fetch(world.standalone.liveUrl + path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(201);
      const { data } = (await answer.json()) as { data: { id: string } };
      return { id: data.id, request: answer.headers.get('X-Request-ID') ?? '' };
    };
    const webhook = await send('/v1/webhooks', { url: receiver.url, events: ['*'] });
    const resource = await send('/v1/resources', { name: 'First', metadata: { team: 'blue' } });
    await receiver.waitFor(() => true, 'the delivery');
    page = await world.open(owner);
    await page.goto(`/w/${world.workspaceId}/live/deliveries`);
    const link = page.getByRole('link', { name: 'resource.created' });
    const delivery = (await link.getAttribute('href'))?.split('/').at(-1) ?? '';
    made = { webhook: webhook.id, resource: resource.id, request: resource.request, delivery };
  }, startMs);
  afterAll(async () => {
    await receiver?.close();
    await world?.stop();
  });
  afterEach(() => expect(world?.troubles.splice(0)).toEqual([]));

  const open = async (path: string) => {
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    // It is the page itself, and not what is shown in its place when something is wrong.
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
  };
  const placeOf = (path: string, environment = 'live') =>
    `/w/${world.workspaceId}/${environment}${path.replace(/\{(\w+)\}/, (_, name: string) => made[name] ?? '')}`;

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    beforeEach(() => page.emulateMedia({ colorScheme }));

    test.each(Object.entries(pages))('%s: axe finds nothing', async (name, path) => {
      await page.setViewportSize({ width: 1280, height: 860 });
      await open(placeOf(path));
      expect(await violations(page)).toEqual([]);
      await keepPicture(page, `${name}-${colorScheme}`);
    });

    test("empty states, the sandbox, one's account: axe finds nothing", async () => {
      await page.setViewportSize({ width: 1280, height: 860 });
      for (const path of [
        placeOf('/webhooks', 'sandbox'),
        placeOf('/deliveries', 'sandbox'),
        '/account',
        '/none/such',
      ]) {
        await open(path);
        expect([path, await violations(page)]).toEqual([path, []]);
      }
    });

    test('dialogs and what is shown before signing in: axe finds nothing', async () => {
      await open(placeOf('/settings/keys'));
      await page.getByRole('button', { name: 'Create key' }).first().click();
      expect(await violations(page)).toEqual([]);
      const stranger = await world.open();
      await stranger.emulateMedia({ colorScheme });
      for (const path of ['/sign-in', '/forgot-password', '/password-reset#x', '/invitation#x']) {
        await stranger.goto(path);
        await stranger.getByRole('heading', { level: 1 }).waitFor();
        expect([path, await violations(stranger)]).toEqual([path, []]);
      }
      await keepPicture(stranger, `invitation-${colorScheme}`);
    });
  });

  test.each(Object.entries(pages))('%s fits on 360 pixels', async (name, path) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await open(placeOf(path));
    expect(await isTooWide(page)).toBe(false);
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, `${name}-360`);
  });

  test('the keyboard gets everywhere: past the menu, into a dialog, and out of it to where it was', async () => {
    await page.setViewportSize({ width: 1280, height: 860 });
    await open(placeOf('/settings/keys'));
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the page');
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

  test('on a narrow screen the menu opens, leads on and closes', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await open(placeOf(''));
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Webhooks' }).first().click();
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
    await page.getByRole('link', { name: 'Delivery logs' }).waitFor({ state: 'hidden' });
  });
});
