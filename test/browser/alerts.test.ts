import { describeWith, perSuite, startReceiver } from '@rms/testkit';
import { openWorld, Role, reloadUntil } from './support.ts';

describeWith('chromium', 'The page of alerts', () => {
  const world = perSuite(openWorld);
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));
  const receiver = perSuite(startReceiver);
  afterEach(() => expect(world?.consoleErrors.splice(0)).toEqual([]));

  const path = () => `/w/${world.workspaceId}/live/settings/alerts`;

  test('adds a channel, tests it, and lets a rule report to it', async () => {
    const page = await world.open(owner);
    await page.goto(path());
    await page.getByRole('button', { name: 'Add channel' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('On-call bot');
    await dialog.getByLabel('Type').selectOption('webhook');
    await dialog.getByLabel('URL').fill('http://10.0.0.1/');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('must be publicly reachable', { exact: false }).waitFor();
    await dialog.getByLabel('URL').fill(receiver.url);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText(/^whsec_/).waitFor();
    await dialog.getByRole('button', { name: 'I have saved it' }).click();

    await page.getByRole('button', { name: 'Test channel: On-call bot' }).click();
    await page.getByText(/^Test message delivered in \d+ ms\.$/).waitFor();
    expect(receiver.requests.map(({ json }) => (json as { type: string }).type)).toEqual(['alert.test']);

    await page.getByRole('button', { name: 'Edit rule: Webhook disabled' }).click();
    await dialog.getByLabel('On-call bot').check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('row', { name: /Webhook disabled/ })
      .getByText('1 channel')
      .waitFor();

    await page.getByRole('button', { name: 'Delete channel: On-call bot' }).click();
    await dialog.getByRole('button', { name: 'Delete channel' }).click();
    await page.getByText('No channels yet').waitFor();
    expect(await page.getByText('1 channel').count()).toBe(0);
  });

  test('acknowledges and mutes an open incident', async () => {
    receiver.respondWith(410);
    const call = await world.apiCaller();
    await call('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] });
    await call('POST', '/v1/resources', { name: 'Lost' });
    const page = await world.open(owner);
    await page.goto(path());
    const row = page.getByRole('table', { name: 'History' }).getByRole('row', { name: /Webhook disabled/ });
    await reloadUntil(page, row, 'the incident');
    await row.getByRole('button', { name: /^Acknowledge/ }).click();
    await row.getByRole('button', { name: /^Acknowledge/ }).waitFor({ state: 'detached' });
    await row.getByRole('button', { name: /^Mute for a day/ }).click();
    await row.getByRole('button', { name: /^Unmute/ }).click();
    await row.getByRole('button', { name: /^Mute for a day/ }).waitFor();
  });
});
