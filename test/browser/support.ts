import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { createClient } from '@rms/rpc';
import { chromiumPath, type Standalone, startStandalone, waitUntil } from '@rms/testkit';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';

/** The whole service, and browsers on its dashboard. */
export interface World {
  readonly standalone: Standalone;
  readonly workspaceId: string;
  /** Makes somebody with that role in the workspace. */
  person(name: string, role: Role): Promise<Person>;
  /** A key that the API takes. */
  key(environment: Environment): Promise<string>;
  /** A page of a browser of its own; signed in, if a person is named. Fails if it asks for anything from elsewhere. */
  open(person?: Person, width?: number): Promise<Page>;
  /** What went wrong in pages: errors in their scripts, refused by the policy, requests that left the dashboard. */
  readonly troubles: string[];
  stop(): Promise<void>;
}

export interface Person {
  readonly email: string;
  readonly password: string;
}

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** The whole service and a browser start meanwhile, beside another suite that does so. */
export const startMs = 180_000;
/** A machine that does much else takes long over what is there at once on another. */
const timeoutMs = 30_000;
/** A mail may take a minute by itself there. */
const testMs = 240_000;
(import.meta as ImportMeta & { jest: typeof jest }).jest.setTimeout(testMs);
const pictures = join(import.meta.dirname, '..', '..', 'test-results', 'browser');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const axeRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export async function openWorld(env: Readonly<Record<string, string>> = {}): Promise<World> {
  const standalone = await startStandalone({
    env: { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ...env },
  });
  const { auth: target } = JSON.parse(readFileSync(join(standalone.dataDir, 'services.json'), 'utf8')) as {
    auth: string;
  };
  const options = { target, timeoutMs, context: { actor: 'operator:test' } };
  const users = createClient(UsersService, options);
  const workspaces = createClient(WorkspacesService, options);
  const keys = createClient(KeysService, options);
  const { workspaces: all } = await workspaces.listWorkspaces({});
  const workspaceId = all[0]?.id ?? '';
  const browser = await chromium.launch({ executablePath: chromiumPath() ?? '', args: flags });
  const contexts: BrowserContext[] = [];
  const troubles: string[] = [];
  return {
    standalone,
    workspaceId,
    troubles,
    async person(name, role) {
      const email = `${name.toLowerCase().replaceAll(' ', '.')}@example.com`;
      const { password } = await users.createUser({ email, name, workspaceId, role });
      return { email, password };
    },
    async key(environment) {
      const { keyValue } = await keys.createKey({ workspaceId, environment, scope: Scope.ADMIN, name: 'for the test' });
      return keyValue;
    },
    async open(person, width = 1280) {
      const context = await newContext(browser, standalone.dashboardUrl, width);
      contexts.push(context);
      const page = await context.newPage();
      watch(page, standalone.dashboardUrl, troubles);
      await page.goto('/');
      if (person) {
        await signIn(page, person);
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

async function newContext(browser: Browser, baseURL: string, width: number): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL, viewport: { width, height: 860 } });
  context.setDefaultTimeout(timeoutMs);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  return context;
}

function watch(page: Page, dashboardUrl: string, troubles: string[]): void {
  page.on('pageerror', ({ message }) => void troubles.push(`script: ${message}`));
  page.on('dialog', (dialog) => void troubles.push(`a script of somebody else's ran: ${dialog.message()}`));
  page.on('console', (message) => {
    const text = message.text();
    // A refusal that a test is after shows as a failed load.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) troubles.push(`console: ${text}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(dashboardUrl) && !url.startsWith('data:')) troubles.push(`asked ${url}`);
  });
}

export async function signIn(page: Page, { email, password }: Person): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Opens the page again until it shows that: for what is under way when it was opened first. */
export async function reloadUntil(page: Page, wanted: Locator, what: string): Promise<void> {
  await waitUntil(
    async () => {
      if ((await wanted.count()) > 0) return true;
      await page.reload();
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      return (await wanted.count()) > 0;
    },
    { what, timeoutMs: 60_000 },
  );
}

/** Asks the back end as a page of ours does that is signed in. */
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
      const answer = await fetch(path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
      const text = await answer.text();
      return { status: answer.status, document: text === '' ? undefined : JSON.parse(text) };
    },
    { method, path, body },
  );
}

/** What axe finds wrong with the page as it is. */
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

/** Keeps a picture of the whole page, for people to look at. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/** Whether something sticks out at the side. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

export { Environment, Role };
