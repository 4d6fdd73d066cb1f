import { readFileSync } from 'node:fs';
import { describeWith, perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { linkIn } from './emails.ts';
import { copiedText, reloadUntil, signIn, suiteWorld } from './support.ts';

const events = 5;

describeWith('chromium', 'A newcomer with only the README', () => {
  const world = suiteWorld();
  const receiver = perSuite(startReceiver);

  /** Returns the word that npm start has printed after this label, and that begins like this. */
  const printed = (what: string, start = '') =>
    new RegExp(`^ +${what} +(${start}\\S+)$`, 'm').exec(world.standalone.output())?.[1] ?? '';

  test('gets from the printed login to a repaired endpoint with all failed deliveries redelivered', async () => {
    // Sign in with the printed login.
    const page = await world.open();
    await signIn(page, { email: printed('email'), password: printed('password') });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    // The sandbox's instructions know the key that npm start has printed.
    await page.goto(page.url().replace(/\/live.*$/, '/sandbox'));
    const steps = page.getByRole('region', { name: 'First steps in the sandbox' });
    const printedKey = printed('sandbox', 'sk_test_');
    await steps.getByText(`${printedKey.slice(0, 12)}…${printedKey.slice(-4)}`, { exact: true }).waitFor();
    await steps.getByText('first key').waitFor();
    await steps.getByText('Done').waitFor();
    await steps.getByText(`curl -s ${printed('sandbox')}/v1/resources`).waitFor();
    expect(await steps.textContent()).not.toContain(printedKey);
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    const menu = page.getByRole('navigation', { name: 'Pages' });

    // Create a key, and call the API with it.
    await menu.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('first steps');
    await dialog.getByLabel('write').check();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('button', { name: 'Copy key' }).click();
    const key = await copiedText(world, page);
    await dialog.getByRole('button', { name: 'I have saved it' }).click();
    const callApi = (init: RequestInit = {}) =>
      fetch(`${printed('live')}/v1/resources`, {
        ...init,
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      });
    expect((await callApi()).status).toBe(200);

    // Subscribe a failing receiver, without retries.
    receiver.respondWith((_, response) => void response.writeHead(500).end('out of order'));
    await menu.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('link', { name: 'Create webhook' }).first().click();
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByLabel('Retries').fill('0');
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByText('Retry policy saved.').waitFor();
    const created: string[] = [];
    for (let i = 0; i < events; i += 1) {
      const response = await callApi({ method: 'POST', body: JSON.stringify({ name: `Number ${i}` }) });
      expect(response.status).toBe(201);
      created.push(((await response.json()) as { data: { id: string } }).data.id);
    }

    // Follow the alert email's link, which is in a file that the log names.
    const link = await waitUntil(
      () => {
        const files = [...world.standalone.output().matchAll(/"file":"([^"]+\.eml)"/g)].map(([, file = '']) => file);
        const emails = files.map((file) => readFileSync(file, 'utf8'));
        return emails.map((email) => linkIn(email, /^\/w\/.*\/deliveries\?/)).find((found) => found !== undefined);
      },
      { what: 'the alert email named in the log' },
    );
    await page.goto(link);
    const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr');
    const failed = rows.filter({ hasText: 'Failed' });
    // The email may arrive before the last attempt ends.
    await reloadUntil(page, failed.nth(events - 1), 'all deliveries to have failed');
    expect(await rows.count()).toBe(events);
    await failed.first().getByRole('link', { name: 'resource.created' }).click();
    await page.getByRole('group', { name: 'Response' }).getByText('out of order').waitFor();
    await page.goBack();
    await failed.nth(events - 1).waitFor();

    // Repair the receiver and redeliver all failed deliveries: first as a dry run, then with a progress bar.
    receiver.respondWith(200);
    const before = receiver.requests.length;
    await page.getByRole('button', { name: 'Redeliver all failed' }).click();
    await dialog.getByRole('button', { name: 'Count deliveries' }).click();
    await dialog.getByText(`${events} deliveries will be redelivered`).waitFor();
    expect(receiver.requests.length).toBe(before);
    await dialog.getByRole('button', { name: `Redeliver ${events}` }).click();
    await dialog.getByRole('progressbar', { name: 'Redelivery progress' }).waitFor();
    await dialog.getByText(`${events} of ${events} redelivered.`).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();

    // The link has opened the failed ones only; all are delivered, and the receiver has received each event once more.
    await page.getByLabel('Status').selectOption('');
    await page.getByLabel('Live tail').check();
    await rows
      .filter({ hasText: 'Delivered' })
      .nth(events - 1)
      .waitFor();
    expect(await failed.count()).toBe(0);
    const again = receiver.requests.slice(before).map(({ json }) => json.data.object.id);
    expect(again.sort()).toEqual(created.sort());
  });
});
