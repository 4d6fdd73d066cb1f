import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deliveryHeaders, makeSecret, toSigningSecret } from '@rms/base/signature';
import {
  chromiumPath,
  describeWith,
  type LoopbackServer,
  listenOnLoopback,
  type Standalone,
  startStandalone,
} from '@rms/testkit';
import { type Browser, chromium, type Page } from 'playwright-core';

const root = join(import.meta.dirname, '..', '..', '..', '..');
const startMs = 180_000;

describeWith('chromium', 'the client in Chromium', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-browser-client-'));
  let service: Standalone;
  let site: LoopbackServer;
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    const project = join(root, 'clients', 'typescript', 'tsconfig.build.json');
    execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', project, '--outDir', folder]);
    service = await startStandalone();
    const names = ['--environment', 'live', '--scope', 'admin', '--name', 'browser'];
    const { key } = await service.rms<{ key: string }>('keys', 'create', ...names);
    site = await listenOnLoopback(siteOf(key));
    browser = await chromium.launch({ executablePath: chromiumPath() ?? '', args: ['--no-sandbox', '--disable-gpu'] });
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${site.port}/`);
  }, startMs);
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A site with the client's modules, which forwards /api to the service and adds the key. */
  const siteOf = (key: string) =>
    createServer((incoming, response) => {
      const path = incoming.url ?? '/';
      if (path.startsWith('/api/')) {
        const { host: _, ...headers } = incoming.headers;
        const options = { method: incoming.method, headers: { ...headers, authorization: `Bearer ${key}` } };
        const outgoing = request(service.liveUrl + path.slice('/api'.length), options, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        });
        incoming.pipe(outgoing);
      } else if (path.startsWith('/client/')) {
        response.setHeader('content-type', 'text/javascript');
        response.end(readFileSync(join(folder, path.slice('/client/'.length))));
      } else {
        response.setHeader('content-type', 'text/html');
        response.end('<!doctype html><title>Client</title>');
      }
    });

  /** Runs statements in the page, with the client's exports as `client`. Returns their result. */
  const inPage = <T>(statements: string, argument: unknown = {}) =>
    page.evaluate<T, unknown>(
      `(async (argument) => { const client = await import('/client/index.js'); ${statements} })(${JSON.stringify(argument)})`,
      undefined,
    );

  test('creates, changes and lists resources, and reads the feed, through a server of its origin', async () => {
    const result = await inPage<object>(`
      const rms = new client.Rms({ url: location.origin + '/api', apiKey: 'added-by-the-server' });
      const created = await rms.resources.create({ name: 'Grüße' });
      await rms.resources.update(created.data.id, { status: 'inactive' }, { ifMatch: created.etag });
      const stale = await rms.resources.update(created.data.id, {}, { ifMatch: created.etag }).catch((error) => error);
      const names = [];
      for await (const { name, status } of rms.resources.list()) names.push(name + ' ' + status);
      const controller = new AbortController();
      const types = [];
      const options = { follow: true, pollInterval: 50, signal: controller.signal };
      const reason = await (async () => {
        for await (const { type } of rms.events.feed(options)) {
          if (type.startsWith('resource.')) types.push(type);
          if (types.length === 3) controller.abort('enough');
        }
      })().catch((error) => error);
      return { names, types, reason, stale: stale instanceof client.PreconditionFailedError };
    `);
    expect(result).toEqual({
      names: ['Grüße inactive'],
      types: ['resource.created', 'resource.updated', 'resource.status_changed'],
      reason: 'enough',
      stale: true,
    });
  });

  test('verifies webhooks', async () => {
    const secret = makeSecret();
    const body = '{"id":"evt_1","name":"Grüße 李"}';
    const content = { eventId: 'evt_1', requestId: '', traceparent: '', body: Buffer.from(body) };
    const secrets = { current: toSigningSecret(secret), previous: undefined };
    const result = await inPage<object>(
      `
      const { body, headers, secret } = argument;
      const event = await client.verifyWebhook(body, new Headers(headers), secret);
      const wrong = await client.verifyWebhook(body + ' ', headers, secret).catch((error) => error);
      return { event, wrong: wrong.name };
      `,
      { body, headers: deliveryHeaders(secrets, content, Date.now()), secret },
    );
    expect(result).toEqual({ event: JSON.parse(body), wrong: 'WebhookVerificationError' });
  });

  test('cannot call the API of another origin, because it does not support CORS', async () => {
    const result = await inPage(
      `
      const rms = new client.Rms({ url: argument.url, apiKey: 'sk_live_secret', maxRetries: 0 });
      return (await rms.resources.list().page().catch((error) => error)).name;
      `,
      { url: service.liveUrl },
    );
    expect(result).toBe('ConnectionError');
  });
});
