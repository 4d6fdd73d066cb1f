import { apiCaller, callApi, describeWith, perSuite, startReceiver, waitUntil } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { callFrom, copiedText, Environment, Role, signIn, suiteWorld } from './support.ts';

const script = '<img src=x onerror=alert(1)><script>alert(2)</script>';

describeWith('chromium', 'The dashboard in a browser', () => {
  // The pages of every-page.test.ts and other suites are not translated.
  const world = suiteWorld({}, { translated: true });
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));

  const statusWith = async (key: string, path = '/v1/resources') =>
    (await callApi('GET', world.standalone.liveUrl + path, key)).status;
  const goTo = (page: Page, path: string, environment = 'live') =>
    page.goto(`/w/${world.workspaceId}/${environment}${path}`);

  test('a wrong password is rejected with a request id; the right one leads to the requested page', async () => {
    const page = await world.open();
    await goTo(page, '/deliveries?status=failed');
    await page.waitForURL(/\/sign-in/);
    await signIn(page, { ...owner, password: 'wrong wrong wrong' });
    await page
      .getByRole('alert')
      .getByText(/Request ID req_/)
      .waitFor();
    await signIn(page, owner);
    await page.getByRole('heading', { name: 'Delivery logs' }).waitFor();
    expect(page.url()).toMatch(/\/live\/deliveries\?status=failed$/);
    expect(await page.getByLabel('Status').inputValue()).toBe('failed');
    await page.getByRole('link', { name: 'Sign out' }).click();
    await page.waitForURL(/\/sign-in/);
    await page.goBack();
    await page.waitForURL(/\/sign-in/);
  });

  test('a tab keeps its input and works after signing out and in again in another tab', async () => {
    const page = await world.open(owner);
    await goTo(page, '/resources');
    await page.getByRole('button', { name: 'Create resource' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Written before');
    const other = await page.context().newPage();
    await goTo(other, '/resources');
    await other.getByRole('link', { name: 'Sign out' }).click();
    await other.waitForURL(/\/sign-in/);
    await dialog.getByRole('button', { name: 'Create resource' }).click();
    const link = dialog.getByRole('link', { name: 'Sign in in a new tab' });
    await link.waitFor();
    const [third] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
    await signIn(third, owner);
    await third.getByRole('heading', { name: 'Overview' }).waitFor();
    await dialog.getByRole('button', { name: 'Create resource' }).click();
    await page.getByRole('heading', { name: 'Written before' }).waitFor();
  });

  test('a key is created, used, rolled and revoked', async () => {
    const page = await world.open(owner);
    await goTo(page, '/settings/keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill(`ci ${script}`);
    await dialog.getByText('Also: create, change and delete resources').waitFor();
    await dialog.getByLabel('write').check();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('button', { name: 'Copy key' }).click();
    expect(await page.evaluate('typeof navigator.clipboard')).toBe('undefined');
    const first = await copiedText(world, page);
    expect(first).toMatch(/^sk_live_/);
    await dialog.getByRole('button', { name: 'I have saved it' }).click();
    expect(await page.content()).not.toContain(first);
    expect(await statusWith(first)).toBe(200);

    await page.getByRole('link', { name: `ci ${script}` }).click();
    // Clients of the key are recorded some seconds after their requests.
    const clients = page.getByRole('table', { name: 'Clients of this key' });
    await waitUntil(
      async () => {
        await page.reload();
        await page.getByRole('heading', { name: 'Clients' }).waitFor();
        return (await clients.count()) > 0;
      },
      { what: 'a client of the key' },
    );
    await page.getByRole('button', { name: 'Roll' }).click();
    await dialog.getByRole('button', { name: 'Roll key' }).click();
    await dialog.getByRole('button', { name: 'Copy key' }).click();
    const second = await copiedText(world, page);
    await dialog.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByText('This key was rolled').waitFor();
    expect([await statusWith(first), await statusWith(second)]).toEqual([200, 200]);

    await page.getByRole('button', { name: 'Revoke' }).click();
    const revoke = dialog.getByRole('button', { name: 'Revoke key' });
    expect(await revoke.isDisabled()).toBe(true);
    await dialog.getByLabel(/to confirm/).fill(`ci ${script}`);
    await revoke.click();
    await page.locator('.badge', { hasText: 'Revoked' }).waitFor();
    // Rejected from the moment the page shows the revocation.
    expect([await statusWith(first), await statusWith(second)]).toEqual([401, 200]);
  });

  test('a key can be copied where the browser has a clipboard interface', async () => {
    const page = await world.open();
    await page.goto(`${world.standalone.dashboardUrl}/sign-in`);
    await signIn(page, owner);
    await page.waitForURL(/\/w\/ws_/);
    expect(await page.evaluate('typeof navigator.clipboard')).toBe('object');
    await page.goto(`${world.standalone.dashboardUrl}/w/${world.workspaceId}/live/settings/keys`);
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('on loopback');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('button', { name: 'Copy key' }).click();
    await dialog.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await copiedText(world, page)).toMatch(/^sk_live_/);
  });

  describe('a webhook whose endpoint fails', () => {
    const receiver = perSuite(startReceiver);
    beforeAll(() =>
      receiver.respondWith((_, response) => {
        response.writeHead(500, { 'Content-Type': 'text/html' }).end(script);
      }),
    );

    test('is created, shown as failing, repaired, and its failed deliveries are redelivered', async () => {
      const page = await world.open(owner);
      const call = await world.apiCaller();
      await goTo(page, '/webhooks/new');
      await page.getByLabel('Endpoint URL').fill('http://');
      await page.getByRole('button', { name: 'Create webhook' }).click();
      await page.locator('[aria-invalid=true]').waitFor();
      await page.getByLabel('Endpoint URL').fill(receiver.url);
      await page.getByLabel('Maximum concurrent attempts').fill('8');
      await page.getByRole('button', { name: 'Create webhook' }).click();
      await page.getByRole('button', { name: 'Copy secret' }).click();
      expect(await copiedText(world, page)).toMatch(/^whsec_/);
      await page.getByRole('tab', { name: 'Python' }).click();
      await page.getByText('hmac.compare_digest').waitFor();
      await page.getByRole('button', { name: 'I have saved it' }).click();
      await page.waitForURL(/webhooks\/wh_/);
      await page.getByText('8 concurrent attempts', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      await page.getByLabel('Maximum attempts per second').fill('99.5');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('8 concurrent attempts, 99.5 per second').waitFor();
      await page.getByLabel('Retries').fill('0');
      await page.getByText('One attempt, no retry.').waitFor();
      await page.getByRole('button', { name: 'Save policy' }).click();
      await page.getByText('Retry policy saved.').waitFor();
      await page.getByRole('button', { name: 'Send test event' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Event type').selectOption('resource.status_changed');
      await dialog.getByText('"status": "inactive"').waitFor();
      await dialog.getByRole('button', { name: 'Send test event' }).click();
      await page.getByRole('region', { name: 'Test event' }).getByText('HTTP 500').waitFor();
      await page.getByRole('link', { name: 'Test event in the delivery log' }).click();
      await page.getByText('A test event about a resource that does not exist.').waitFor();
      await page.getByRole('group', { name: 'Response' }).getByText(script).waitFor();
      expect(await page.getByRole('button', { name: 'Redeliver' }).count()).toBe(0);

      const { requestId } = await call('POST', '/v1/resources', { name: script });
      await goTo(page, '/deliveries?status=failed&live=1&test=false');
      await page.getByRole('link', { name: 'resource.created' }).click();
      // Response bodies of endpoints are shown as text only.
      await page.getByRole('group', { name: 'Response' }).getByText(script).waitFor();
      await page.getByRole('button', { name: 'Copy as curl' }).click();
      expect(await copiedText(world, page)).toContain(`curl -i '${receiver.url}'`);
      await page.getByRole('button', { name: 'Copy ID' }).first().click();
      expect(await copiedText(world, page)).toMatch(/^dlv_\w+$/);
      await page.getByRole('link', { name: requestId }).click();
      await page.getByText(/responded 201 after/).waitFor();
      await page.getByText(/attempt 1 of dlv_\w+ to wh_\w+: status: 500 in/).waitFor();

      receiver.respondWith(200);
      await goTo(page, '/deliveries');
      await page.getByRole('button', { name: 'Redeliver all failed' }).click();
      await dialog.getByRole('button', { name: 'Count deliveries' }).click();
      await dialog.getByText('1 delivery will be redelivered').waitFor();
      await dialog.getByRole('button', { name: 'Redeliver 1' }).click();
      await dialog.getByText('1 of 1 redelivered.').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).last().click();
      await page.getByLabel('Live tail').check();
      await page.getByRole('cell', { name: 'Delivered' }).first().waitFor();
      await page.getByLabel('Test events').selectOption('Only test events');
      await page.getByRole('cell', { name: 'Delivered' }).waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'resource.status_changed' }).waitFor();
    });
  });

  test('a resource is created, changed, archived and deleted', async () => {
    const page = await world.open(owner);
    await goTo(page, '/resources', 'sandbox');
    await page.getByText('Sandbox: test data').waitFor();
    await page.getByRole('button', { name: 'Create resource' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Grüße');
    await dialog.getByLabel('Metadata').fill('{"a"');
    await dialog.getByRole('button', { name: 'Create resource' }).click();
    await dialog.getByText('is not JSON').waitFor();
    await dialog.getByLabel('Metadata').fill('{"team": "blue"}');
    await dialog.getByRole('button', { name: 'Create resource' }).click();
    await page.getByRole('heading', { name: 'Grüße' }).waitFor();
    await goTo(page, '/resources', 'sandbox');
    await page.getByLabel('Name prefix').fill('Gr');
    await page.keyboard.press('Enter');
    await page.waitForURL(/name=Gr/);
    await page.getByRole('link', { name: 'Grüße' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Name').fill('Liebe Grüße');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Liebe Grüße' }).waitFor();
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.locator('.badge', { hasText: 'Archived' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByLabel(/to confirm/).fill('Liebe Grüße');
    await dialog.getByRole('button', { name: 'Delete resource' }).click();
    await page.getByText('No resources yet').waitFor();
  });

  test.each([
    ['double and no-break spaces and a decomposed accent', 'Order  \u00a0cafe\u0301\n1', 'Order caf\u00e9 1'],
    ['characters that draw nothing', '\u200b\u3164', undefined],
  ])('a resource whose name has %s is opened and deleted', async (_, name, shown) => {
    const key = await world.key(Environment.LIVE);
    const { id } = await apiCaller(world.standalone.liveUrl, key)('POST', '/v1/resources', { name });
    const page = await world.open(owner);
    await goTo(page, '/resources');
    await page.locator(`a[href$="${id}"]`).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(`Type ${shown ?? id} to confirm`).fill(shown ?? id);
    await dialog.getByRole('button', { name: 'Delete resource' }).click();
    await page.getByText('Resource deleted.').waitFor();
    expect(await statusWith(key, `/v1/resources/${id}`)).toBe(404);
  });

  test('a viewer sees no buttons for changes, and the server rejects changes', async () => {
    const viewer = await world.newUser('viewer', Role.VIEWER);
    const page = await world.open(viewer);
    await goTo(page, '/resources');
    await page.getByRole('heading', { name: 'Resources' }).waitFor();
    expect(await page.getByRole('button', { name: 'Create resource' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0);
    await goTo(page, '/settings/keys');
    await page
      .getByRole('alert')
      .getByText('The role developer is required; yours in this workspace is viewer.')
      .waitFor();
    const path = `/api/workspaces/${world.workspaceId}/live/resources`;
    expect(await callFrom(page, 'POST', path, { name: 'x' })).toMatchObject({ status: 403 });
  });

  test('the audit log shows what changed, with names, and links to objects that exist', async () => {
    const call = await world.apiCaller();
    const hook = { url: 'https://example.com/a', events: ['*'], description: `Orders ${script}` };
    const [{ id: kept }, { id: gone }] = [
      await call('POST', '/v1/webhooks', hook),
      await call('POST', '/v1/webhooks', hook),
    ];
    await call('PATCH', `/v1/webhooks/${kept}`, { url: 'https://example.com/b' });
    await call('DELETE', `/v1/webhooks/${gone}`);

    const page = await world.open(owner);
    await goTo(page, '/settings/audit?action=webhook.');
    const rows = page.getByRole('table', { name: 'Audit log' }).getByRole('row');
    const updated = rows.filter({ hasText: 'webhook.updated' }).first();
    await updated.getByText('https://example.com/a → https://example.com/b').waitFor();
    await updated.getByText('checkout service').waitFor();
    await rows.filter({ hasText: gone }).first().getByText(`Orders ${script}`).first().waitFor();
    expect(await rows.getByRole('link', { name: gone }).count()).toBe(0);
    await updated.getByRole('link', { name: kept }).click();
    await page.waitForURL(new RegExp(`/live/webhooks/${kept}$`));
  });

  test('a workspace the user is not a member of is not found', async () => {
    const page = await world.open(owner);
    await page.goto('/w/ws_00000000000000000000000000/live/webhooks');
    await page.getByText('Page not found').waitFor();
  });
});
