import { RmsError } from '@rms/base/errors';
import { isId } from '@rms/base/ids';
import type { Workspace } from '@rms/proto/rms/auth/v1/workspace_pb';
import type { Pages } from './pages.ts';
import type { Services } from './services.ts';

/** Workspaces that the error for a missing --workspace names. */
const maxNamed = 20;

/** Options of the command that select workspaces. */
export interface WorkspaceOptions {
  readonly workspace?: string;
  readonly allWorkspaces?: boolean;
}

/** Finds the workspaces that have an object; LookupService of auth and of webhooks. */
export interface Lookup {
  findWorkspaces(request: { id: string }): Promise<{ readonly workspaceIds: readonly string[] }>;
}

/**
 * Returns the command's workspace: the one named by --workspace, otherwise the one named by RMS_WORKSPACE,
 * otherwise the only one.
 */
export async function workspaceOf(
  services: Pick<Services, 'workspaces'>,
  { workspace }: WorkspaceOptions,
): Promise<string> {
  if (workspace !== undefined) return existing(services, workspace);
  const named = defaultWorkspace();
  if (named !== undefined) {
    return existing(services, named).catch((error: unknown) => {
      if (!(error instanceof RmsError) || error.code !== 'not_found') throw error;
      throw new RmsError('not_found', { message: `RMS_WORKSPACE: There is no workspace "${named}".`, cause: error });
    });
  }
  const { only, some, more } = await firstWorkspaces(services);
  if (only !== undefined) return only;
  const names = `${some.map(({ id, name }) => `${id} (${name})`).join(', ')}${more}`;
  throw new Error(`Multiple workspaces exist. Choose one with --workspace or RMS_WORKSPACE: ${names}`);
}

/**
 * Returns the workspace of an object: the one named by --workspace, otherwise the only one, otherwise the one with the
 * object. Ignores RMS_WORKSPACE, because the ID is unambiguous. Throws `not_found` if no workspace has the object.
 */
export async function workspaceWith(
  services: Pick<Services, 'workspaces'>,
  options: WorkspaceOptions,
  lookups: readonly Lookup[],
  id: string,
): Promise<string> {
  const find = await workspaceFinder(services, options, lookups);
  return find(id);
}

/** Returns a function that finds the workspaces of several objects; see {@link workspaceWith}. */
export async function workspaceFinder(
  services: Pick<Services, 'workspaces'>,
  { workspace }: WorkspaceOptions,
  lookups: readonly Lookup[],
): Promise<(id: string) => Promise<string>> {
  const fixed = workspace === undefined ? (await firstWorkspaces(services)).only : await existing(services, workspace);
  return async (id) => fixed ?? findOwner(lookups, id);
}

async function findOwner(lookups: readonly Lookup[], id: string): Promise<string> {
  const responses = await Promise.all(lookups.map((lookup) => lookup.findWorkspaces({ id })));
  const [found, ...others] = new Set(responses.flatMap(({ workspaceIds }) => workspaceIds));
  if (found === undefined) throw new RmsError('not_found', { message: `"${id}" does not exist in any workspace.` });
  if (others.length > 0) {
    throw new Error(
      `Multiple workspaces have "${id}". Choose one: --workspace ${[found, ...others].sort().join(', ')}`,
    );
  }
  return found;
}

/** Item of a list. `workspace_id` is set if the list covers all workspaces. */
export type Listed<T> = T & { readonly workspace_id?: string };

/** Reads a list in the command's workspace, or with --all-workspaces of every workspace, oldest first. */
export async function listIn<T extends object>(
  services: Pick<Services, 'workspaces'>,
  options: WorkspaceOptions,
  read: (workspaceId: string) => Promise<readonly T[]>,
): Promise<Listed<T>[]> {
  if (!options.allWorkspaces) return [...(await read(await workspaceOf(services, options)))];
  const items: Listed<T>[] = [];
  for await (const id of everyWorkspace(services)) {
    items.push(...(await read(id)).map((item) => ({ workspace_id: id, ...item })));
  }
  return items;
}

/**
 * Reads the newest items of the command's workspace, or with --all-workspaces the newest of all workspaces, up to
 * `limit`. `created_at` or `opened_at` is their time.
 */
export async function newestIn<T extends Timed>(
  services: Pick<Services, 'workspaces'>,
  options: WorkspaceOptions,
  limit: number,
  read: (workspaceId: string) => Promise<Pages<T>>,
): Promise<Pages<Listed<T>>> {
  if (!options.allWorkspaces) return read(await workspaceOf(services, options));
  let found: Listed<T>[] = [];
  let more = false;
  for await (const id of everyWorkspace(services)) {
    const pages = await read(id);
    const all = [...found, ...pages.found.map((item) => ({ workspace_id: id, ...item }))];
    found = all.sort((a, b) => timeOf(b).localeCompare(timeOf(a))).slice(0, limit);
    more ||= pages.more || all.length > limit;
  }
  return { found, more };
}

/** Item of a list that is ordered by time (ISO 8601). */
interface Timed {
  readonly created_at?: string | null;
  readonly opened_at?: string | null;
}

function timeOf({ created_at, opened_at }: Timed): string {
  return created_at ?? opened_at ?? '';
}

/** Adds a first column WORKSPACE to a table if the list covers all workspaces. */
export function withWorkspaces(
  { allWorkspaces }: WorkspaceOptions,
  headings: readonly string[],
  items: readonly { readonly workspace_id?: string }[],
  rows: readonly (readonly string[])[],
): [headings: readonly string[], rows: readonly (readonly string[])[]] {
  if (!allWorkspaces) return [headings, rows];
  return [['WORKSPACE', ...headings], rows.map((row, i) => [items[i]?.workspace_id ?? '', ...row])];
}

async function* everyWorkspace({ workspaces }: Pick<Services, 'workspaces'>): AsyncGenerator<string> {
  let pageToken = '';
  do {
    const page = await workspaces.listWorkspaces({ pageToken });
    for (const { id } of page.workspaces) yield id;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}

/** Finds a workspace by ID or name, by default even during its deletion. Throws if several have the name. */
export async function workspaceNamed(
  { workspaces }: Pick<Services, 'workspaces'>,
  nameOrId: string,
  includeDeleting = true,
): Promise<Workspace> {
  const named: Workspace[] = [];
  let pageToken = '';
  do {
    const page = await workspaces.listWorkspaces({ pageToken, includeDeleting });
    const found = page.workspaces.find(({ id }) => id === nameOrId);
    if (found) return found;
    named.push(...page.workspaces.filter(({ name }) => name === nameOrId));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  const [only, ...others] = named;
  if (!only) throw new RmsError('not_found', { message: `There is no workspace "${nameOrId}".` });
  if (others.length === 0) return only;
  const ids = named.slice(0, maxNamed).map(({ id }) => id);
  throw new Error(`${named.length} workspaces have the name "${nameOrId}". Give the ID: ${ids.join(', ')}`);
}

/** Returns a workspace's ID, given its ID or name. Throws `not_found` if it does not exist. */
export async function existing(services: Pick<Services, 'workspaces'>, nameOrId: string): Promise<string> {
  if (!isId('ws', nameOrId)) return (await workspaceNamed(services, nameOrId, false)).id;
  await services.workspaces.getWorkspace({ workspaceId: nameOrId });
  return nameOrId;
}

/** Returns the oldest workspaces. `only` is set if there are no others. Throws if no workspace exists. */
async function firstWorkspaces({ workspaces }: Pick<Services, 'workspaces'>) {
  const { workspaces: some, nextPageToken } = await workspaces.listWorkspaces({ pageSize: maxNamed });
  const [first, ...others] = some;
  if (!first) throw new Error('There is no workspace yet. Create one with `rms workspaces create --name NAME`.');
  return {
    only: others.length === 0 ? first.id : undefined,
    some,
    more: nextPageToken === '' ? '' : ', and others that `rms workspaces list` shows',
  };
}

function defaultWorkspace(): string | undefined {
  return process.env.RMS_WORKSPACE || undefined;
}
