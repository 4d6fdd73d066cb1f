import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeWith, perSuite, startReceiver, waitUntil } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { htmlOf } from './emails.ts';
import { callFrom, signIn, suiteWorld, type TestUser } from './support.ts';

/** Scripts that would run if a page treated them as anything but text; each of them calls `alert`. */
const payloads = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(2)>',
  '<svg/onload=alert(3)>',
  '"><iframe srcdoc="<script>parent.alert(4)</script>">',
  "' autofocus onfocus=alert(5) x='",
  'javascript:alert(6)',
  'data:text/html,<script>alert(7)</script>',
  '</title></style></textarea><script>alert(8)</script>',
  `{{constructor.constructor("alert(9)")()}}\${alert(9)}<%= alert(9) %>`,
  '\u202egnp.exe\u2066<b onclick=alert(10)>\u2069',
] as const;
const all = payloads.join(' ');
/** The payloads for a User-Agent header, which can only contain Latin-1. */
const inHeader = all.replaceAll(/[^\x20-\x7e]/g, '');

describeWith('chromium', 'User-provided content', () => {
  let owner: TestUser;
  let page: Page;
  let workspaceId: string;
  const created = { resource: '', webhook: '', key: '', delivery: '', request: '' };

  const world = suiteWorld();
  const receiver = perSuite(() => startReceiver({ path: '' }));
  beforeAll(async () => {
    receiver.respondWith((_, response) => {
      response.writeHead(500, { 'Content-Type': 'text/html', 'X-Answer': inHeader, Location: 'javascript:alert(11)' });
      response.end(`<!doctype html><body onload=alert(12)>${all}`);
    });
    const { id } = await world.standalone.rms<{ id: string }>(
      'workspaces',
      'create',
      '--name',
      payloads.slice(0, 3).join(' '),
    );
    workspaceId = id;
    const email = "x'&{y}`|@example.com";
    const { password } = await world.standalone.rms<{ password: string }>(
      ...[
        'users',
        'create',
        '--email',
        email,
        '--name',
        payloads.slice(0, 3).join(' '),
        '--workspace',
        id,
        '--role',
        'owner',
      ],
    );
    owner = { email, password };
    page = await world.open(owner);
    await fill();
  });

  const api = (path: string) => `/api/workspaces/${workspaceId}/live${path}`;
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const { status, document } = await callFrom<T>(page, method, path, body);
    expect([path, document, status < 300]).toEqual([path, document, true]);
    return document;
  };

  /** Creates an object of every kind, with a payload in every text field. */
  async function fill(): Promise<void> {
    for (const name of payloads) {
      const body = { name, scope: 'read' };
      const { data } = await ask<{ data: { id: string; key: string } }>('POST', api('/api_keys'), body);
      created.key = data.id;
      // Its user agent is listed among the key's clients.
      await fetch(`${world.standalone.liveUrl}/v1/resources`, {
        headers: { Authorization: `Bearer ${data.key}`, 'User-Agent': inHeader },
      });
    }
    const url = `${receiver.url}/<script>alert(1)</script>?next=javascript:alert(6)&x="><img src=x onerror=alert(2)>`;
    const hook = { url, events: ['*'] };
    const { data: webhook } = await ask<{ data: { id: string } }>('POST', api('/webhooks'), hook);
    created.webhook = webhook.id;
    const retry_policy = { max_retries: 0, initial_delay: 60, max_delay: 60 };
    await ask('PATCH', api(`/webhooks/${webhook.id}`), { retry_policy });
    for (const [i, name] of payloads.entries()) {
      const metadata = { [payloads[1]]: all, [`key ${i}`]: name };
      const body = { name, metadata };
      created.resource = (await ask<{ data: { id: string } }>('POST', api('/resources'), body)).data.id;
    }
    await receiver.waitFor(({ json }) => json.data.object.id === created.resource, 'the last delivery');
    await ask('PATCH', '/api/account', { name: payloads.slice(0, 3).join(' ') });
    await ask('PUT', api('/alert_rules/quota'), { recipients: ["z'&{y}`|@example.com"] });
    await ask('POST', api('/invitations'), { email: "guest'&{y}`|@example.com", role: 'viewer' });
    await ask('POST', api('/alert_rules/quota/test'));
    const list = await waitUntil(
      async () => {
        const { data } = await ask<{ data: { id: string; request_id: string; status: string }[] }>(
          'GET',
          api('/deliveries'),
        );
        return data.length === payloads.length && data.every(({ status }) => status === 'failed') ? data : undefined;
      },
      { what: 'the failed deliveries' },
    );
    created.delivery = list[0]?.id ?? '';
    created.request = list[0]?.request_id ?? '';
  }

  /** Opens a page and checks that no user-provided content has become markup. */
  async function open(path: string): Promise<string> {
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    return expectNothingBuilt(page);
  }

  async function expectNothingBuilt(on: Page): Promise<string> {
    const found = await on.evaluate<string[]>(
      `[...document.querySelectorAll('iframe, object, embed, img[src="x"], [onload], [onerror], [onfocus], [onclick], base')]
        .concat([...document.scripts].filter((script) => !script.src))
        .concat([...document.querySelectorAll('[href], [action], [formaction], [src]')].filter((one) =>
          /^\\s*(javascript|data|vbscript):/i.test(one.getAttribute('href') ?? one.getAttribute('action') ??
            one.getAttribute('formaction') ?? one.getAttribute('src')) && one.tagName !== 'LINK'))
        .map((one) => one.outerHTML)`,
    );
    expect(found).toEqual([]);
    // The text as users see it, including the content of fields.
    return on.evaluate<string>(
      `document.body.innerText + [...document.querySelectorAll('input, textarea, option')].map((one) => one.value + one.text).join(' ')`,
    );
  }

  const at = (path: string) => `/w/${workspaceId}/live${path}`;

  test('is shown as text on every page', async () => {
    const shown: [path: string, texts: readonly string[]][] = [
      [at(''), [payloads[0]]],
      [at('/resources'), payloads],
      [at(`/resources/${created.resource}`), [payloads[9], payloads[1]]],
      [at('/webhooks'), ['alert(1)']],
      [at(`/webhooks/${created.webhook}`), ['alert(1)']],
      [at('/deliveries'), ['alert(1)']],
      [
        at(`/deliveries/${created.delivery}`),
        [...payloads.slice(0, 9), 'javascript:alert(11)', '<body onload=alert(12)>'],
      ],
      [at(`/requests?id=${created.request}`), ['500']],
      [at('/settings/keys'), payloads],
      [at(`/settings/keys/${created.key}`), [payloads[9]]],
      [at('/settings/alerts'), ["z'&{y}`|@example.com"]],
      [at('/settings/team'), [owner.email, "guest'&{y}`|@example.com", payloads[0]]],
      [at('/settings/limits'), []],
      [at('/settings/audit'), ['key.created']],
      ['/account', [payloads[0]]],
    ];
    for (const [path, texts] of shown) {
      const text = await open(path);
      for (const one of texts) expect([path, text]).toEqual([path, expect.stringContaining(one)]);
    }
  });

  test('is shown as text in dialogs and test results', async () => {
    await open(at(`/resources/${created.resource}`));
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(payloads[9]).first().waitFor();
    expect(await expectNothingBuilt(page)).toContain(payloads[9]);
    await page.keyboard.press('Escape');
    await open(at(`/webhooks/${created.webhook}`));
    await page.getByRole('button', { name: 'Send test event' }).click();
    await dialog.getByRole('button', { name: 'Send test event' }).click();
    await page.getByRole('region', { name: 'Test event' }).getByText('HTTP 500').waitFor();
    expect(await expectNothingBuilt(page)).toContain(payloads[0]);
  });

  test('is shown as text when it is part of the URL, and causes no redirect', async () => {
    const given = encodeURIComponent(all);
    for (const path of [
      at(`/deliveries?request=${given}&resource=${given}&webhook=${given}&type=${given}&cursor=${given}`),
      at(`/resources?name=${given}&cursor=${given}`),
      at(`/requests?id=${given}`),
      at(`/requests?status=${given}&route=${given}&error=${given}&key=${given}&user=${given}&ip=${given}`),
      at(`/settings/audit?target=${given}&action=${given}`),
    ]) {
      await open(path);
    }
    for (const payload of payloads) {
      // A path with a dot is a static file, which does not exist.
      const inPath = encodeURIComponent(payload).replaceAll('.', '');
      for (const path of [at(`/webhooks/${inPath}`), `/w/${inPath}/${inPath}`]) await open(path);
    }
  });

  test('is shown as text before sign-in, and sign-in never redirects to another site', async () => {
    const elsewhere = [
      '//evil.example.com',
      '/\\evil.example.com',
      '/.//evil.example.com',
      'https://evil.example.com',
      '//',
    ];
    for (const next of [...elsewhere, payloads[5], payloads[6]]) {
      const outsider = await world.open();
      await outsider.goto(`/sign-in?${new URLSearchParams({ next, failed: all, step: all })}`);
      await outsider.getByLabel('Password').waitFor();
      expect(await expectNothingBuilt(outsider)).toContain(payloads[0]);
      await signIn(outsider, owner);
      await outsider.getByRole('heading', { level: 1 }).waitFor();
      await outsider.waitForURL((url) => url.pathname !== '/sign-in');
      expect(new URL(outsider.url()).origin).toBe(world.origin);
      await outsider.close();
    }
    const outsider = await world.open();
    for (const path of [
      '/password-reset#',
      '/invitation#',
      '/email-change#',
      '/alert-recipient#',
      '/unsubscribe?token=',
    ]) {
      await outsider.goto(path + encodeURIComponent(all));
      await outsider.getByRole('heading', { level: 1 }).waitFor();
      await expectNothingBuilt(outsider);
    }
  });

  test('is text in emails, where no content security policy applies', async () => {
    const folder = join(world.standalone.dataDir, 'emails');
    const wanted = ['Invitation to', 'Test: Monthly quota', 'Consecutive delivery attempts failed'];
    const emails = await waitUntil(
      () => {
        const found = readdirSync(folder)
          .filter((name) => name.endsWith('.eml'))
          .map((name) => htmlOf(readFileSync(join(folder, name), 'utf8')));
        return wanted.every((title) => found.some((html) => html.includes(title))) ? found : undefined;
      },
      { what: 'the emails' },
    );
    const reader = await world.open();
    await reader.goto('about:blank');
    for (const html of emails) {
      await reader.setContent(html, { waitUntil: 'load' });
      const text = await expectNothingBuilt(reader);
      expect(text).toContain(payloads[0]);
      expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    }
  });
});
