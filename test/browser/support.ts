import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { createClient } from '@rms/rpc';
import {
  apiCaller,
  chromiumPath,
  localServices,
  perSuite,
  type Standalone,
  startStandalone,
  waitUntil,
} from '@rms/testkit';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';

/** The whole service, with browsers on its dashboard. */
export interface World {
  readonly standalone: Standalone;
  /**
   * Origin of the dashboard in the browsers: HTTP with a host name, where browsers offer fewer interfaces than over HTTPS
   * or on loopback (`standalone.dashboardUrl`).
   */
  readonly origin: string;
  readonly workspaceId: string;
  /** Creates a user with this role in the workspace. */
  newUser(name: string, role: Role): Promise<TestUser>;
  /** Creates an API key with the scope admin. */
  key(environment: Environment): Promise<string>;
  /** Returns a function that calls the REST API with a new key, see apiCaller of the test kit. */
  apiCaller(environment?: Environment): Promise<ReturnType<typeof apiCaller>>;
  /** Opens a page in a new browser context, signed in if a user is given. */
  open(newUser?: TestUser, width?: number): Promise<Page>;
  /** Problems in pages: script errors, violations of the content security policy, requests that leave the dashboard. */
  readonly consoleErrors: string[];
  stop(): Promise<void>;
}

export interface TestUser {
  readonly email: string;
  readonly password: string;
}

/** Name of the dashboard's host in the browsers. */
const host = 'rms.test';
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-proxy-server',
  `--host-resolver-rules=MAP ${host} 127.0.0.1`,
];
/** On a busy machine, actions that are usually instant can take long. */
const timeoutMs = 90_000;
/** On a busy machine, an email alone can take a minute. */
const testMs = 240_000;
jest.setTimeout(testMs);
const pictures = join(import.meta.dirname, '..', '..', 'test-results', 'browser');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const axeRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/**
 * Changes a page like a browser's translation, except that the words stay the same: replaces each text node,
 * also those that are added later.
 */
const translate = `(() => {
  const replace = (node) => {
    if (node.nodeType !== Node.TEXT_NODE) return [...node.childNodes].forEach(replace);
    const parent = node.parentNode;
    if (!(parent instanceof HTMLElement) || parent.closest('font, head, script, style, textarea, [translate=no]')) return;
    if (node.data.trim() === '') return;
    const [outer, inner] = [document.createElement('font'), document.createElement('font')];
    inner.textContent = node.data;
    outer.append(inner);
    node.replaceWith(outer);
  };
  new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records)
      for (const node of type === 'characterData' ? [target] : addedNodes) replace(node);
  }).observe(document, { childList: true, characterData: true, subtree: true });
})()`;

/** @param options.translated whether the browsers translate every page */
export async function openWorld(
  env: Readonly<Record<string, string>> = {},
  { translated = false } = {},
): Promise<World> {
  const standalone = await startStandalone({
    env: { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ...env },
  });
  const { auth: target, security } = localServices(standalone.dataDir);
  const options = { target, security, timeoutMs, context: { actor: 'operator:test' } };
  const users = createClient(UsersService, options);
  const workspaces = createClient(WorkspacesService, options);
  const keys = createClient(KeysService, options);
  const { workspaces: all } = await workspaces.listWorkspaces({ pageSize: 1 });
  const workspaceId = all[0]?.id ?? '';
  const browser = await chromium.launch({ executablePath: chromiumPath() ?? '', args: flags });
  const origin = standalone.dashboardUrl.replace('127.0.0.1', host);
  const consoleErrors: string[] = [];
  const key = async (environment: Environment) => {
    const admin = { scope: Scope.ADMIN, name: 'checkout service' };
    return (await keys.createKey({ workspaceId, environment, ...admin })).keyValue;
  };
  return {
    standalone,
    origin,
    workspaceId,
    consoleErrors,
    async newUser(name, role) {
      const email = `${name.toLowerCase().replaceAll(' ', '.')}@example.com`;
      const { password } = await users.createUser({ email, name, workspaceId, role });
      return { email, password };
    },
    key,
    async apiCaller(environment = Environment.LIVE) {
      const url = environment === Environment.LIVE ? standalone.liveUrl : standalone.sandboxUrl;
      return apiCaller(url, await key(environment));
    },
    async open(newUser, width = 1280) {
      const context = await newContext(browser, origin, width);
      if (translated) await context.addInitScript(translate);
      const page = await context.newPage();
      watch(page, [origin, standalone.dashboardUrl], consoleErrors);
      await page.goto('/');
      if (newUser) {
        await signIn(page, newUser);
        await page.waitForURL(/\/w\/ws_/);
      }
      return page;
    },
    async stop() {
      await browser.close();
      for (const client of [users, workspaces, keys]) client.close();
      await standalone.stop();
    },
  };
}

/** Opens a world for a suite's tests. A message on the browser's console fails the test that causes it. */
export function suiteWorld(...given: Parameters<typeof openWorld>): World {
  const world = perSuite(() => openWorld(...given));
  afterEach(() => expect(world.consoleErrors.splice(0)).toEqual([]));
  return world;
}

async function newContext(browser: Browser, baseURL: string, width: number): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL, viewport: { width, height: 860 } });
  context.setDefaultTimeout(timeoutMs);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  return context;
}

function watch(page: Page, origins: readonly string[], consoleErrors: string[]): void {
  page.on('pageerror', ({ message }) => void consoleErrors.push(`script: ${message}`));
  page.on('dialog', (dialog) => void consoleErrors.push(`an injected script ran: ${dialog.message()}`));
  page.on('console', (message) => {
    const text = message.text();
    // Error responses that a test provokes show up as a failed load.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource'))
      consoleErrors.push(`console: ${text}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (![...origins, 'data:'].some((start) => url.startsWith(start))) consoleErrors.push(`requested ${url}`);
  });
}

export async function signIn(page: Page, { email, password }: TestUser): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Reloads the page until it shows the locator, for data that is still being written. */
export async function reloadUntil(page: Page, wanted: Locator, what: string): Promise<void> {
  await waitUntil(
    async () => {
      if ((await wanted.count()) > 0) return true;
      await page.reload();
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      return (await wanted.count()) > 0;
    },
    { what },
  );
}

/** Returns the text in the clipboard, which only a page on loopback can read. */
export async function copiedText({ standalone }: World, page: Page): Promise<string> {
  const reader = await page.context().newPage();
  await reader.goto(`${standalone.dashboardUrl}/icon.svg`);
  const text = await reader.evaluate<string>('navigator.clipboard.readText()');
  await reader.close();
  await page.bringToFront();
  return text;
}

/** Calls the back end as a signed-in user's page does. */
export function callFrom<T>(
  page: Page,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; document: T }> {
  return page.evaluate(
    async ({ method, path, body }) => {
      const account = (await (await fetch('/api/account')).json()) as { csrf_token: string };
      const headers = { 'X-CSRF-Token': account.csrf_token, ...(body ? { 'Content-Type': 'application/json' } : {}) };
      const response = await fetch(path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
      const text = await response.text();
      return { status: response.status, document: text === '' ? undefined : JSON.parse(text) };
    },
    { method, path, body },
  );
}

/** Returns the violations that axe finds on the page. */
export async function violations(page: Page): Promise<string[]> {
  return page.evaluate(
    `(() => {
      const module = undefined, exports = undefined;
      ${axe};
      return window.axe.run(document, { runOnly: ${JSON.stringify(axeRules)} }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).slice(0, 3).join(' | ')));
    })()`,
  );
}

/** Saves a full-page screenshot for manual review. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/** Whether content overflows horizontally. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

export { Environment, Role };
