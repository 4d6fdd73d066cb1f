import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startDashboard, type TestDashboard } from './support.ts';

let dashboard: TestDashboard;
beforeAll(async () => {
  dashboard = await startDashboard();
});
afterAll(() => dashboard.stop());

const built = join(import.meta.dirname, '..', 'dist', 'web');
const firstPageLimitBytes = 200_000;
const get = (path: string, headers: Record<string, string> = {}) => fetch(dashboard.url + path, { headers });
const html = () => readFileSync(join(built, 'index.html'), 'utf8');
const scriptOf = (page: string) => /<script[^>]*src="([^"]+)"/.exec(page)?.[1] ?? '';

test('every address that is no file is the page, which is looked up anew each time', async () => {
  for (const path of ['/', '/sign-in', '/w/ws_1/live/webhooks/wh_1', '/w/ws_1/live/requests/v1.2']) {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-cache');
    expect(await answer.text()).toBe(html());
  }
});

test('files carry their hash in their names, and are kept for good', async () => {
  const answer = await get(scriptOf(html()), { 'Accept-Encoding': 'gzip, br' });
  expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(answer.headers.get('content-encoding')).toBe('br');
  expect((await get(scriptOf(html()), { 'Accept-Encoding': 'br;q=0, gzip' })).headers.get('content-encoding')).toBe(
    'gzip',
  );
  expect((await get(scriptOf(html()), { 'Accept-Encoding': 'identity' })).headers.get('content-encoding')).toBeNull();
});

test('there is nothing where there is no file, and no way out of the folder', async () => {
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

test('the policy lets in our own files and nothing else; no script or style is inline', async () => {
  const answer = await get('/');
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
  const page = html();
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|https?:\/\//);
});

test('the first page needs less than 200 kB of compressed script', () => {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    const source = readFileSync(join(built, path), 'utf8');
    // Static imports only: the others wait until their page is opened.
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

test('answers of the API are kept by nobody, and their errors name the request', async () => {
  const answer = await get('/api/account', { 'X-Request-ID': 'request-of-mine' });
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(await answer.json()).toEqual({
    error: {
      code: 'not_signed_in',
      message: 'Sign in first: there is no session, or it has ended.',
      status: 401,
      request_id: 'request-of-mine',
    },
  });
  expect((await get('/api/none')).status).toBe(404);
  expect((await get('/api/sign-in')).status).toBe(405);
});
