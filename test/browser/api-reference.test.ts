import { describeWith } from '@rms/testkit';
import { Environment, keepPicture, suiteWorld } from './support.ts';

/** The reference asks for the color scheme of the system. */
const schemes = ['light', 'dark'] as const;

describeWith('chromium', 'The API reference', () => {
  const world = suiteWorld();

  /** Opens a reference page; `outside` collects requests to other origins. */
  async function open(page: string) {
    const context = (await world.open()).context();
    const opened = await context.newPage();
    const problems: string[] = [];
    opened.on('pageerror', ({ message }) => void problems.push(message));
    opened.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())));
    opened.on('request', (request) => {
      if (!request.url().startsWith(world.standalone.liveUrl)) problems.push(`requested ${request.url()}`);
    });
    await opened.goto(`${world.standalone.liveUrl}/docs${page}`);
    return { opened, problems };
  }

  test.each(schemes)(
    'shows the guides without requests to other origins and without violations (%s)',
    async (scheme) => {
      const { opened, problems } = await open('#tag/authentication');
      await opened.emulateMedia({ colorScheme: scheme });
      await opened.reload();
      await opened.locator(`body.${scheme}-mode`).waitFor();
      await opened.getByRole('heading', { name: 'Authentication' }).waitFor();
      const navigation = opened.getByRole('navigation').or(opened.getByRole('complementary')).first();
      for (const page of ['Idempotency', 'Limits', 'Receiving webhooks']) {
        await navigation.getByText(page, { exact: true }).waitFor();
      }
      await navigation.getByText('Error codes', { exact: true }).click();
      await opened.getByRole('heading', { name: 'invalid_request' }).waitFor();
      await keepPicture(opened, `api-reference-${scheme}`);
      expect(problems).toEqual([]);
    },
  );

  test('finds operations and pages', async () => {
    const { opened, problems } = await open('');
    await opened
      .getByRole('button', { name: /search/i })
      .first()
      .click();
    const dialog = opened.getByRole('dialog');
    await dialog.getByRole('combobox').or(dialog.getByRole('textbox')).first().fill('rotate secret');
    await dialog.getByText('Rotate the signing secret').waitFor();
    expect(problems).toEqual([]);
  });

  test('shows the samples, and sends requests with a key that it does not store', async () => {
    const call = await world.apiCaller();
    await call('POST', '/v1/resources', { name: 'Order 7' });
    const key = await world.key(Environment.LIVE);
    const { opened, problems } = await open('');
    await opened.getByPlaceholder('Token').first().fill(key);
    await opened.goto(`${world.standalone.liveUrl}/docs#tag/resources/GET/v1/resources`);
    await opened.getByText('"$RMS_URL/v1/resources?status=active').first().waitFor();
    await opened.getByRole('button', { name: /^Test Request.*get \/v1\/resources\)$/ }).click();
    const dialog = opened.getByRole('dialog');
    const answered = opened.waitForResponse((response) => response.url().includes('/v1/resources'));
    await dialog.getByText('Send', { exact: true }).first().click();
    const response = await answered;
    expect([response.url(), response.status()]).toEqual([`${world.standalone.liveUrl}/v1/resources`, 200]);
    await dialog.getByText('Order 7').first().waitFor();
    const stored = await opened.evaluate<string>(`(async () => JSON.stringify([
      { ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(), await caches.keys()]))()`);
    expect(JSON.parse(stored)).toEqual([{}, {}, '', [], []]);
    await opened.reload();
    expect(await opened.getByPlaceholder('Token').first().inputValue()).toBe('');
    expect(problems).toEqual([]);
  });
});
