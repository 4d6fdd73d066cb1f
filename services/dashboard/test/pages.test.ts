import { readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { disposable, perSuite } from '@rms/testkit';
import { startDashboard } from './support.ts';

const dashboard = perSuite(startDashboard);

const built = join(import.meta.dirname, '..', 'dist', 'web');
const firstPageLimitBytes = 200_000;
const get = (path: string, headers: Record<string, string> = {}) => fetch(dashboard.url + path, { headers });
/** Reads the body as well, because a large unread body's connection stays open. */
const getAll = async (path: string, headers: Record<string, string>) => {
  const response = await get(path, headers);
  await response.arrayBuffer();
  return response;
};
const html = () => readFileSync(join(built, 'index.html'), 'utf8');
const scriptOf = (page: string) => /<script[^>]*src="([^"]+)"/.exec(page)?.[1] ?? '';

test('every path without a file returns the page, which browsers revalidate', async () => {
  for (const path of ['/', '/sign-in', '/w/ws_1/live/webhooks/wh_1', '/w/ws_1/live/requests/v1.2']) {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(await response.text()).toBe(html());
  }
});

test('files have a content hash in their names and are cached indefinitely', async () => {
  const { headers } = await getAll(scriptOf(html()), { 'Accept-Encoding': 'gzip, BR' });
  expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(headers.get('content-encoding')).toBe('br');
  const gzip = await getAll(scriptOf(html()), { 'Accept-Encoding': 'br;q=0, gzip' });
  expect(gzip.headers.get('content-encoding')).toBe('gzip');
  const plain = await getAll(scriptOf(html()), { 'Accept-Encoding': 'identity' });
  expect(plain.headers.get('content-encoding')).toBeNull();
});

test('a browser with too many cookies gets a readable page', async () => {
  await using own = disposable(await startDashboard({ MAX_HEADERS_KIB: '16' }));
  const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\nCookie: a=${'x'.repeat(17 * 1024)}\r\n\r\n`);
  const response = await text(socket);
  expect(response).toMatch(/^HTTP\/1\.1 431 .*\r\n/);
  expect(response).toContain('Content-Type: text/html; charset=utf-8\r\n');
  expect(response).toContain('<h1>Too many cookies</h1>');
  expect(response).toContain('more than 16 KiB');
  const { status } = await fetch(own.url, { headers: { Cookie: `a=${'x'.repeat(15 * 1024)}` } });
  expect(status).toBe(200);
});

test('a missing file is 404, and paths cannot leave the directory', async () => {
  for (const path of [
    '/assets/none.js',
    '/package.json',
    '/../main.js',
    '/assets/%2e%2e/index.html.gz',
    '/%2e%2e/main.js',
  ]) {
    expect((await get(path)).status).toBe(404);
  }
});

test('the content security policy allows only own files, and no script or style is inline', async () => {
  const response = await get('/');
  const policy = response.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  const page = html();
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|https?:\/\//);
});

test('the first page loads less than 200 kB of compressed scripts', () => {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    const source = readFileSync(join(built, path), 'utf8');
    // Static imports only. Dynamic imports are loaded when their page is opened.
    for (const [, name = ''] of source.matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g))
      visit(`/assets/${name}`);
  };
  const entry = scriptOf(html());
  visit(entry);
  const lazy = (name: string) =>
    new RegExp(`assets/(${name}-[\\w-]+\\.js)`).exec(readFileSync(join(built, entry), 'utf8'))?.[1];
  for (const page of ['sign-in', 'overview']) {
    const name = lazy(page);
    expect(name).toBeDefined();
    visit(`/assets/${name}`);
  }
  const bytes = [...seen].reduce((sum, path) => sum + statSync(join(built, `${path}.gz`)).size, 0);
  expect(bytes).toBeGreaterThan(20_000);
  expect(bytes).toBeLessThan(firstPageLimitBytes);
});

test('API responses are not cached, and errors contain the request ID', async () => {
  const response = await get('/api/account', { 'X-Request-ID': 'request-of-mine' });
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await response.json()).toEqual({
    error: {
      code: 'not_signed_in',
      message: 'Sign in first. There is no session, or it has expired.',
      status: 401,
      request_id: 'request-of-mine',
    },
  });
  expect((await get('/api/none')).status).toBe(404);
  expect((await get('/api/sign-in')).status).toBe(405);
});

test.each<[string, string, string, number]>([
  ['GET', '/%', 'localhost', 404],
  ['GET', '/api/%E0%A4%A', 'localhost', 404],
  ['GET', 'http://localhost/sign-in', 'other.example.com', 200],
  ...['192.0.2.999', 'localhost:99999', '[:::::]', 'a b', '<script>'].map(
    (host) => ['POST', '/api/sign-out', host, 400] as [string, string, string, number],
  ),
])('%s %s with Host %s gets %d', async (method, path, host, status) => {
  const { hostname, port } = new URL(dashboard.url);
  const socket = connect(Number(port), hostname);
  socket.end(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://localhost\r\nConnection: close\r\n\r\n`);
  expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});
