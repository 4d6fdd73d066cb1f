import { describeWith, perSuite } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { Environment, Role, suiteWorld, violations } from './support.ts';

describeWith('chromium', 'The request log in a browser', () => {
  const world = suiteWorld({}, { translated: true });
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));
  let key = '';
  beforeAll(async () => {
    key = await world.key(Environment.LIVE);
  });

  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(world.standalone.liveUrl + path, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return response.headers.get('X-Request-ID') ?? '';
  };
  const openList = async (page: Page, search = '') => {
    await page.goto(`/w/${world.workspaceId}/live/requests${search}`);
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
  };
  const rowsOf = (page: Page) => page.getByRole('table', { name: 'Requests' }).getByRole('row');
  const row = (page: Page, text: string) => rowsOf(page).filter({ hasText: text });

  test('the live tail shows new requests; filters narrow it; a row opens the timeline', async () => {
    const page = await world.open(owner);
    await openList(page);
    await page.getByLabel('Live tail').check();
    await send('POST', '/v1/resources', { name: 'first' });
    await row(page, 'POST /v1/resources').getByText('201').waitFor();
    await send('GET', '/v1/resources/res_missing');
    await row(page, 'GET /v1/resources/res_missing').getByText('not_found').waitFor();

    await page.getByLabel('Status').selectOption('4xx');
    await row(page, 'POST /v1/resources').waitFor({ state: 'detached' });
    await send('DELETE', '/v1/resources/res_other');
    await row(page, 'DELETE /v1/resources/res_other').waitFor();
    await page.getByLabel('Method').selectOption('DELETE');
    await row(page, 'GET /v1/resources/res_missing').waitFor({ state: 'detached' });
    await page.getByLabel('Route').fill('/v1/resources/{id}');
    await page.keyboard.press('Enter');
    await page.getByLabel('Error code').fill('conflict');
    await page.keyboard.press('Enter');
    await page.getByText('No matching requests').waitFor();
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await row(page, 'POST /v1/resources').waitFor();
    expect(await violations(page)).toEqual([]);

    await row(page, 'POST /v1/resources').getByRole('link').click();
    await page.getByRole('heading', { name: 'Request', level: 1, exact: true }).waitFor();
    await page.getByText(/responded 201 after/).waitFor();
    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Requests' }).click();
    await row(page, 'POST /v1/resources').waitFor();
  });

  test('changes in the dashboard are listed with their user', async () => {
    const page = await world.open(owner);
    await page.goto(`/w/${world.workspaceId}/live/resources`);
    await page.getByRole('button', { name: 'Create resource' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('by a user');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    await openList(page, '?live=1');
    await row(page, owner.email).getByText('POST /v1/resources').waitFor();
    await page.getByLabel('User').selectOption(owner.email);
    await row(page, 'res_missing').waitFor({ state: 'detached' });
    await row(page, owner.email).getByRole('link').first().click();
    await page.getByText(`POST /v1/resources in live by ${owner.email}`).waitFor();
  });

  test('the figures of the overview and of a key link to their requests', async () => {
    const page = await world.open(owner);
    await page.goto(`/w/${world.workspaceId}/live`);
    await page.getByRole('link', { name: 'View 4xx' }).click();
    await row(page, 'res_missing').waitFor();
    expect(new URL(page.url()).searchParams.get('status')).toBe('4xx');
    expect(await row(page, '201').count()).toBe(0);

    await page.goto(`/w/${world.workspaceId}/live/settings/keys`);
    await page.getByRole('table').getByRole('link').first().click();
    await page.getByRole('link', { name: 'View requests' }).click();
    await row(page, 'res_missing').waitFor();
    expect(new URL(page.url()).searchParams.get('key')).toMatch(/^key_/);
    expect(await row(page, owner.email).count()).toBe(0);
  });
});
