import { readFileSync } from 'node:fs';
import { describeWith, type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { linkIn } from './mails.ts';
import { openWorld, reloadUntil, signIn, startMs, type World } from './support.ts';

const events = 5;

describeWith('chromium', 'Somebody who has only the README', () => {
  let world: World;
  let receiver: Receiver;
  beforeAll(async () => {
    world = await openWorld();
    receiver = await startReceiver();
  }, startMs);
  afterAll(async () => {
    await receiver?.close();
    await world?.stop();
  });
  afterEach(() => expect(world?.troubles.splice(0)).toEqual([]));

  /** What npm start has printed behind that word. */
  const printed = (what: string) => new RegExp(`^ +${what} +(\\S+)$`, 'm').exec(world.standalone.output())?.[1] ?? '';

  test('gets from the printed login to a mended endpoint with all that failed redelivered', async () => {
    // Signs in with what npm start has printed.
    const page = await world.open();
    await signIn(page, { email: printed('e-mail'), password: printed('password') });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    const menu = page.getByRole('navigation', { name: 'Pages' });

    // Makes a key, and calls the API with it.
    await menu.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('first steps');
    await dialog.getByLabel('write').check();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByRole('button', { name: 'Copy key' }).click();
    const key = await page.evaluate<string>('navigator.clipboard.readText()');
    await dialog.getByRole('button', { name: 'I have kept it' }).click();
    const callApi = (init: RequestInit = {}) =>
      fetch(`${printed('live')}/v1/resources`, {
        ...init,
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      });
    expect((await callApi()).status).toBe(200);

    // Subscribes a receiver that is broken, which gets no second try.
    receiver.respondWith((_, response) => void response.writeHead(500).end('out of order'));
    await menu.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('link', { name: 'Create webhook' }).first().click();
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByLabel('Retries').fill('0');
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByText('The retry policy is changed.').waitFor();
    const made: string[] = [];
    for (let i = 0; i < events; i += 1) {
      const answer = await callApi({ method: 'POST', body: JSON.stringify({ name: `Number ${i}` }) });
      expect(answer.status).toBe(201);
      made.push(((await answer.json()) as { data: { id: string } }).data.id);
    }

    // Gets the mail of the alert, in a file that the log names, and follows its link.
    const link = await waitUntil(
      () => {
        const files = [...world.standalone.output().matchAll(/"file":"([^"]+\.eml)"/g)].map(([, file = '']) => file);
        const mails = files.map((file) => readFileSync(file, 'utf8'));
        return mails.map((mail) => linkIn(mail, /^\/w\/.*\/deliveries\?/)).find((found) => found !== undefined);
      },
      { what: 'the mail of the alert, named in the log', timeoutMs: 60_000 },
    );
    await page.goto(link);
    const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr');
    const failed = rows.filter({ hasText: 'Failed' });
    // The mail may be there before the last attempt has ended.
    await reloadUntil(page, failed.nth(events - 1), 'all deliveries to have failed');
    expect(await rows.count()).toBe(events);
    await failed.first().getByRole('link', { name: 'resource.created' }).click();
    await page.getByRole('group', { name: 'Response as it came' }).getByText('out of order').waitFor();
    await page.goBack();
    await failed.nth(events - 1).waitFor();

    // Mends the receiver, and has all that failed redelivered: first as a dry run, then with a bar.
    receiver.respondWith(200);
    const before = receiver.requests.length;
    await page.getByRole('button', { name: 'Redeliver all failed' }).click();
    await dialog.getByRole('button', { name: 'Count them' }).click();
    await dialog.getByText(`${events} deliveries will be sent again`).waitFor();
    expect(receiver.requests.length).toBe(before);
    await dialog.getByRole('button', { name: `Redeliver ${events}` }).click();
    await dialog.getByRole('progressbar', { name: 'Sent again' }).waitFor();
    await dialog.getByText(`${events} of ${events} sent again.`).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();

    // Sees them delivered, and so does the receiver: each once.
    await page.getByLabel('Live tail').check();
    await rows
      .filter({ hasText: 'Delivered' })
      .nth(events - 1)
      .waitFor();
    expect(await failed.count()).toBe(0);
    const again = receiver.requests.slice(before).map(({ json }) => json.data.object.id);
    expect(again.sort()).toEqual(made.sort());
  });
});
