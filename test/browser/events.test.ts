import { describeWith, perSuite, startReceiver } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { Role, suiteWorld } from './support.ts';

describeWith('chromium', 'Events and webhooks in a browser', () => {
  const world = suiteWorld();
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));
  const viewer = perSuite(() => world.newUser('viewer', Role.VIEWER));
  const receiver = perSuite(startReceiver);
  let call: Awaited<ReturnType<typeof world.apiCaller>>;
  beforeAll(async () => {
    call = await world.apiCaller();
  });

  const pathOf = (rest: string) => `/w/${world.workspaceId}/live${rest}`;
  const open = async (page: Page, rest: string) => {
    await page.goto(pathOf(rest));
    await page.getByRole('heading', { level: 1 }).waitFor();
  };
  const rowsOf = (page: Page, label: string) => page.getByRole('table', { name: label, exact: true }).getByRole('row');

  test('the feed is shown newest first and live; a row opens the event, its object, request and deliveries', async () => {
    const webhook = await call('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] });
    const page = await world.open(owner);
    await open(page, '/events');
    await page.getByLabel('Live tail').check();
    const resource = await call('POST', '/v1/resources', { name: 'First' });
    const row = rowsOf(page, 'Events').filter({ hasText: resource.id });
    await row.getByText('resource.created').waitFor();
    expect(new URL(page.url()).search).toBe('?live=1');
    // An operational event, which viewers do not get.
    await call('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'disabled' });
    await call('PATCH', `/v1/webhooks/${webhook.id}`, { status: 'active' });
    await rowsOf(page, 'Events').filter({ hasText: 'webhook.enabled' }).waitFor();
    expect(await rowsOf(page, 'Events').nth(1).textContent()).toContain('webhook.enabled');
    const other = await world.open(viewer);
    await open(other, '/events');
    await rowsOf(other, 'Events').filter({ hasText: 'resource.created' }).waitFor();
    expect(await rowsOf(other, 'Events').filter({ hasText: 'webhook.' }).count()).toBe(0);

    await row.getByRole('link', { name: 'resource.created' }).click();
    await page.getByRole('heading', { name: 'resource.created' }).waitFor();
    expect(JSON.parse((await page.getByLabel('Event JSON').locator('pre').textContent()) ?? '')).toMatchObject({
      type: 'resource.created',
      data: { object: { id: resource.id, name: 'First' } },
    });
    await rowsOf(page, 'Deliveries of this event').filter({ hasText: receiver.url }).waitFor();
    await page.getByRole('link', { name: resource.requestId }).click();
    await page.getByText(/responded 201 after/).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: resource.id }).click();
    await page.getByRole('heading', { name: 'First' }).waitFor();
  });

  test('older events are on the next pages; a filter shows the events of one resource', async () => {
    const first = await call('POST', '/v1/resources', { name: 'Oldest' });
    const until = new Date().toISOString();
    for (let i = 0; i < 55; i += 1) await call('POST', '/v1/resources', { name: `Resource ${i}` });
    const page = await world.open(owner);
    await open(page, '/events?live=1');
    await page.getByText(/\b5[6-9] in total|\b[6-9]\d in total/).waitFor();
    await page.getByLabel('Live tail').uncheck();
    expect(await rowsOf(page, 'Events').count()).toBe(51);
    await page.getByRole('button', { name: 'Next' }).click();
    await rowsOf(page, 'Events').filter({ hasText: first.id }).waitFor();
    expect(new URL(page.url()).searchParams.get('cursor')).not.toBeNull();
    await page.getByRole('button', { name: 'Previous' }).click();
    await rowsOf(page, 'Events').filter({ hasText: first.id }).waitFor({ state: 'detached' });
    await page.getByLabel('Resource ID').fill(first.id);
    await page.keyboard.press('Enter');
    await rowsOf(page, 'Events').filter({ hasText: first.id }).waitFor();
    expect(await rowsOf(page, 'Events').count()).toBe(2);
    expect(new URL(page.url()).search).toBe(`?resource=${first.id}`);

    await open(page, `/events?until=${until}`);
    await rowsOf(page, 'Events').nth(1).getByText(first.id).waitFor();
    await page.getByLabel('Event type').selectOption('webhook.disabled');
    await rowsOf(page, 'Events').filter({ hasText: first.id }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('type')).toBe('webhook.disabled');
    await page.getByLabel('Event type').selectOption('resource.deleted');
    await page.getByText('No matching events').waitFor();
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await rowsOf(page, 'Events').nth(50).waitFor();
  });

  test('webhooks are filtered by URL, status and health, incidents by status; each filter is in the address', async () => {
    const paused = `${receiver.url}paused`;
    await call('POST', '/v1/webhooks', { url: paused, events: ['*'], status: 'paused' });
    const page = await world.open(owner);
    await open(page, '/webhooks');
    const rows = rowsOf(page, 'Webhooks');
    await rows.filter({ hasText: paused }).waitFor();
    expect(await rows.count()).toBe(3);
    await page.getByLabel('Status').selectOption('paused');
    await rows.nth(2).waitFor({ state: 'detached' });
    expect(await rows.nth(1).textContent()).toContain(paused);
    await page.getByLabel('Health').selectOption('healthy');
    await page.getByText('No matching webhooks').waitFor();
    expect(new URL(page.url()).search).toBe('?status=paused&health=healthy');
    await page.getByLabel('Status').selectOption('');
    await rows.filter({ hasText: receiver.url }).waitFor();
    await page.getByLabel('Health').selectOption('');
    await page.getByLabel('URL').fill(paused);
    await page.keyboard.press('Enter');
    await rows.nth(2).waitFor({ state: 'detached' });
    await page.reload();
    await rows.filter({ hasText: paused }).waitFor();
    expect(await rows.count()).toBe(2);

    await open(page, '/settings/alerts');
    await page.getByLabel('Status').selectOption('closed');
    await page.getByText('No closed incidents').waitFor();
    expect(new URL(page.url()).search).toBe('?status=closed');
  });
});
