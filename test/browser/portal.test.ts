import { join } from 'node:path';
import { callApi, describeWith, freePort, perSuite, startProgram, startReceiver, waitUntil } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { Environment, keepPicture, openWorld, violations } from './support.ts';

describeWith('chromium', 'The portal', () => {
  /** The service, and the demo application on another site ("localhost" instead of 127.0.0.1) that frames the portal. */
  const world = perSuite(async () => {
    const port = await freePort();
    const opened = await openWorld({ PORTAL_FRAME_ANCESTORS: `http://localhost:${port}` });
    const key = await opened.key(Environment.LIVE);
    const demo = await startProgram({
      name: 'the demo',
      command: process.execPath,
      args: [join(import.meta.dirname, '..', '..', 'scripts', 'portal-demo.mjs')],
      env: { ...process.env, RMS_URL: opened.standalone.liveUrl, RMS_API_KEY: key, PORT: `${port}` },
      outputFile: join(opened.standalone.dataDir, 'demo-output'),
      ready: (output) => output.includes('The demo listens'),
    });
    return {
      ...opened,
      port,
      call: async <T>(method: string, path: string, body?: object) =>
        (await callApi<{ data: T }>(method, opened.standalone.liveUrl + path, key, body)).body.data,
      async stop() {
        await demo.terminate();
        await opened.stop();
      },
    };
  });
  const receiver = perSuite(startReceiver);

  /** Opens a page without the watch of the dashboard's own pages. */
  const openHost = async () => (await world.open()).context().newPage();
  const portalOf = (page: Page) => page.frameLocator('iframe');

  test('a page of another site frames it: create, test, redeliver, rotate the secret, reload', async () => {
    const page = await openHost();
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => void errors.push(message));
    await page.goto(`http://localhost:${world.port}/`);
    const portal = portalOf(page);
    await portal.getByText('No webhooks yet').waitFor();
    await portal.getByRole('link', { name: 'Create webhook' }).first().click();
    await portal.getByLabel('Endpoint URL').fill(receiver.url);
    await portal.getByRole('button', { name: 'Create webhook' }).click();
    await portal.getByRole('button', { name: 'I have saved it' }).click();
    await portal.getByRole('heading', { name: receiver.url }).waitFor();
    await portal.getByRole('button', { name: 'Send test event' }).click();
    await portal.getByRole('dialog').getByRole('button', { name: 'Send test event' }).click();
    await portal.getByText('Test event in the delivery log').waitFor();
    await portal.getByRole('button', { name: 'Rotate secret' }).click();
    await portal.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
    await portal.getByRole('button', { name: 'I have saved it' }).click();

    const resource = await world.call<{ id: string }>('POST', '/v1/resources', { name: 'Order' });
    const isOfResource = ({ json }: { json: { data?: { object?: { id?: string } } } }) =>
      json?.data?.object?.id === resource.id;
    await receiver.waitFor(isOfResource, 'the delivery');
    await portal.getByRole('link', { name: 'Delivery logs' }).click();
    await portal.getByRole('table', { name: 'Deliveries' }).getByText('Delivered').first().waitFor();
    await portal.getByRole('row').filter({ hasNotText: 'Test' }).getByRole('link').first().click();
    await portal.getByRole('button', { name: 'Redeliver' }).click();
    await waitUntil(() => receiver.requests.filter(isOfResource).length === 2, { what: 'the redelivery' });

    const frame = page.frames().find((one) => one.url().includes('/portal/'));
    expect(frame?.url()).not.toContain('#');
    await frame?.evaluate('location.reload()');
    await portal.getByText(resource.id, { exact: true }).waitFor();
    await portal.getByRole('link', { name: `Back to localhost:${world.port}` }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(errors).toEqual([]);
    await keepPicture(page, 'portal-framed');

    const entries = await world.call<{ actor_name: string }[]>('GET', '/v1/audit_log?action=webhook.secret_rotated');
    expect(entries.map((entry) => entry.actor_name)).toEqual(['portal session of key checkout service']);
  });

  test('a page of an origin that is not listed cannot frame it', async () => {
    const page = await openHost();
    const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
    await page.goto(`http://rms.test:${world.port}/`);
    await refused;
    expect(await portalOf(page).getByText('Webhooks').count()).toBe(0);
  });

  test('a link works once, in the chosen theme, until the session expires; the pages are accessible', async () => {
    const body = { expires_in: 20, theme: { mode: 'dark', primary_color: '#ffff00' } };
    const { url } = await world.call<{ url: string }>('POST', '/v1/portal_sessions', body);
    const page = await openHost();
    await page.goto(url);
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    expect(await page.evaluate("getComputedStyle(document.querySelector('.button-main')).backgroundColor")).toBe(
      'rgb(255, 255, 0)',
    );
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'portal-dark');
    const other = await openHost();
    await other.goto(url);
    await other.getByText('This link does not work').waitFor();
    await page.getByText('Your session has ended').waitFor();
    await page.reload();
    await page.getByText('Your session has ended').waitFor();
  });
});
