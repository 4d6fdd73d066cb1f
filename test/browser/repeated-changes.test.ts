import { describeWith, perSuite, startReceiver } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { callFrom, copiedText, Role, suiteWorld } from './support.ts';

describeWith('chromium', 'A change that is repeated after a lost response', () => {
  const world = suiteWorld();
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));

  const goTo = (page: Page, path: string) => page.goto(`/w/${world.workspaceId}/live${path}`);
  /** The next change at this path takes effect, but its response is lost. */
  const loseResponse = async (page: Page, path: string) => {
    const session = await page.context().newCDPSession(page);
    session.on('Fetch.requestPaused', async ({ requestId, request }) => {
      if (request.method === 'GET') return session.send('Fetch.continueRequest', { requestId });
      await session.send('Fetch.failRequest', { requestId, errorReason: 'ConnectionReset' });
      await session.send('Fetch.disable');
    });
    const urlPattern = `*/api/workspaces/${world.workspaceId}/live${path}`;
    await session.send('Fetch.enable', { patterns: [{ urlPattern, requestStage: 'Response' }] });
  };
  const openNewKey = async (page: Page, name: string) => {
    await goTo(page, '/settings/keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByLabel('Expires').selectOption('In 7 days');
    return dialog;
  };
  /** Presses the button until the response arrives, and returns the key's value. */
  const createdKey = async (page: Page) => {
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('button', { name: 'Copy key' }).click();
    return copiedText(world, page);
  };
  const keysNamed = async (page: Page, name: string) => {
    const path = `/api/workspaces/${world.workspaceId}/live/api_keys`;
    const { document } = await callFrom<{ data: { name: string; hint: string }[] }>(page, 'GET', path);
    return document.data.filter((key) => key.name === name);
  };

  test('creates one key, whose value is shown', async () => {
    const page = await world.open(owner);
    const dialog = await openNewKey(page, 'pressed twice');
    await loseResponse(page, '/api_keys');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('alert').waitFor();
    const value = await createdKey(page);
    const response = await fetch(`${world.standalone.liveUrl}/v1/resources`, {
      headers: { Authorization: `Bearer ${value}` },
    });
    expect(response.status).toBe(200);
    expect(await keysNamed(page, 'pressed twice')).toHaveLength(1);

    // A key with the same content, created on purpose afterwards, is another one.
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await openNewKey(page, 'pressed twice');
    expect(await createdKey(page)).not.toBe(value);
    expect(await keysNamed(page, 'pressed twice')).toHaveLength(2);
  });

  test('creates one key also from another tab', async () => {
    const page = await world.open(owner);
    const dialog = await openNewKey(page, 'two tabs');
    await loseResponse(page, '/api_keys');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('alert').waitFor();
    const other = await page.context().newPage();
    await openNewKey(other, 'two tabs');
    expect(await createdKey(other)).toMatch(/^sk_live_/);
    expect(await keysNamed(page, 'two tabs')).toHaveLength(1);
  });

  test('creates one key in a browser that refuses to store anything', async () => {
    const page = await world.open(owner);
    await page.addInitScript(() => {
      for (const name of ['localStorage', 'sessionStorage'])
        Object.defineProperty(globalThis, name, {
          get() {
            throw new DOMException('Access is denied for this document.', 'SecurityError');
          },
        });
    });
    const dialog = await openNewKey(page, 'nothing stored');
    await loseResponse(page, '/api_keys');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('alert').waitFor();
    await createdKey(page);
    expect(await keysNamed(page, 'nothing stored')).toHaveLength(1);
  });

  test('is accepted with other content', async () => {
    const page = await world.open(owner);
    await goTo(page, '/resources');
    await page.getByRole('button', { name: 'Create resource' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('First name');
    await loseResponse(page, '/resources');
    await dialog.getByRole('button', { name: 'Create resource' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Name').fill('Second name');
    await dialog.getByRole('button', { name: 'Create resource' }).click();
    await page.getByRole('heading', { name: 'Second name' }).waitFor();

    const receiver = await startReceiver();
    await goTo(page, '/webhooks/new');
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await loseResponse(page, '/webhooks');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Endpoint URL').fill(`${receiver.url}/changed`);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.waitForURL(/webhooks\/wh_/);
    await receiver.close();
  });
});
