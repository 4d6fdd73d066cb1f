import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callApi, describeWith, perSuite, startReceiver } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { wide } from './pseudo-language.ts';
import { Environment, keepPicture, suiteWorld } from './support.ts';

/** Script that returns the texts of a page, without code, times and names that are never translated. */
const texts = `[document.title, ...[...document.querySelectorAll('body, body *')]
  .filter((element) => !element.closest('code, pre, time, noscript, [translate=no]'))
  .flatMap((element) => [
    ...['aria-label', 'title', 'placeholder', 'alt', 'data-label'].map((name) => element.getAttribute(name) ?? ''),
    ...[...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data),
  ])]`;
/** Data in texts: URLs, hosts, IDs, event types, and proper names of languages and frameworks. */
const data =
  /https?:\S+|127\.0\.0\.1:\d+|\b(wh|dlv|evt|res|req)_\w+|\b(resource|webhook|delivery|api_key|quota)\.\w+|\b(Node|Python|Go|Java|curl|Express|Next\.js|FastAPI|Flask|net\/http|Spring Boot)\b/g;

const vite = join(import.meta.dirname, '..', '..', 'node_modules', 'vite', 'bin', 'vite.js');

describeWith('chromium', 'A portal with a second language', () => {
  const outDir = mkdtempSync(join(tmpdir(), 'rms-pages-'));
  afterAll(() => rmSync(outDir, { recursive: true }));
  const world = suiteWorld();
  const receiver = perSuite(startReceiver);

  /** Opens the portal with the pages that were built for this test, in a browser with this language. */
  const open = async (locale: string, key: string): Promise<Page> => {
    const { body } = await callApi<{ data: { url: string } }>(
      'POST',
      `${world.standalone.liveUrl}/v1/portal_sessions`,
      key,
      {},
    );
    const browser = (await world.open()).context().browser();
    const page = (await browser?.newPage({ locale })) as Page;
    await page.route('**/*', (route) => {
      const { pathname } = new URL(route.request().url());
      if (pathname.startsWith('/api/')) return route.continue();
      return route.fulfill({ path: join(outDir, pathname.startsWith('/portal') ? 'index.html' : pathname) });
    });
    await page.goto(body.data.url);
    return page;
  };

  test('shows every text in the preferred language', async () => {
    const config = join(import.meta.dirname, 'pseudo-language.config.mjs');
    execFileSync(process.execPath, [vite, 'build', '-c', config, '--outDir', outDir]);
    const key = await world.key(Environment.LIVE);
    const call = await world.apiCaller();
    await call('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] });
    await call('POST', '/v1/resources', { name: 'Order' });
    await receiver.waitFor(() => true, 'the delivery');
    await (await open('en-GB', key)).getByRole('heading', { name: 'Webhooks' }).waitFor();

    const page = await open('fr-CA', key);
    const button = (name: string) => page.getByRole('button', { name: wide(name) }).last();
    const link = (name: string) => page.getByRole('link', { name: wide(name) }).last();
    const untranslated: string[] = [];
    const check = async (shown: string) => {
      await page.getByText(wide(shown)).first().waitFor();
      const found = (await page.evaluate<string[]>(texts)).map((text) => text.replaceAll(data, ''));
      untranslated.push(...found.filter((text) => /[A-Za-z]/.test(text)));
    };
    await check('Endpoint');
    await link('Create webhook').click();
    await page.getByLabel(wide('Deliver events')).selectOption('all');
    await button('Add header').click();
    await check('Remove header');
    await link('Webhooks').click();
    await page.getByRole('link', { name: receiver.url }).click();
    await check('The circuit is closed');
    expect(await page.evaluate('document.documentElement.lang')).toBe('fr');
    const time = page.locator('time').first();
    const format = new Intl.DateTimeFormat('fr-CA', { dateStyle: 'medium', timeStyle: 'medium' });
    expect(await time.textContent()).toBe(format.format(new Date((await time.getAttribute('datetime')) ?? '')));
    for (const [name, shown] of [
      ['Send test event', 'Body, with other IDs'],
      ['Edit', 'Endpoint URL'],
      ['Rotate secret', 'Overlap'],
      ['Disable', 'No deliveries are pending'],
      ['Delete', 'The delivery log is kept'],
    ] as const) {
      await button(name).click();
      await check(shown);
      await button('Cancel').click();
    }
    await button('Send test event').click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: wide('Send test event') })
      .click();
    await check('Test event in the delivery log');
    await keepPicture(page, 'portal-language');
    await button('Rotate secret').click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: wide('Rotate secret') })
      .click();
    await check('I have saved it');
    await button('I have saved it').click();
    await link('Delivery logs').click();
    await page.getByLabel(wide('Select all')).check();
    await check('Redeliver 2 selected');
    await button('Redeliver all failed').click();
    await button('Count deliveries').click();
    await check('There are no deliveries');
    await button('Cancel').click();
    await page.locator('tbody a').last().click();
    await check('Attempt 1');
    expect(untranslated).toEqual([]);
  });
});
