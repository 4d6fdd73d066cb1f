import { may, type Permission, type Role } from '@rms/base/roles';
import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { createContext, useContext } from 'react';
import { accountQuery } from './account.ts';
import { call } from './client.ts';
import { withIntent } from './intent.ts';
import { useOptimisticChange } from './optimistic.ts';

export interface Tenant {
  readonly workspace: string;
  readonly environment: 'live' | 'sandbox';
}

/** Returns the workspace and environment of the URL, which are also the `params` of links within them. */
export function useTenant(): Tenant {
  const { workspace = '', environment } = useParams({ strict: false });
  return { workspace, environment: environment === 'sandbox' ? 'sandbox' : 'live' };
}

/** Permissions of the portal session that shows the pages. undefined: they are shown to a signed-in user. */
export const PortalPermissions = createContext<readonly Permission[] | undefined>(undefined);

/** Returns the user's role in this workspace. undefined in a portal session. */
export function useRole(): Role | undefined {
  const { workspace } = useTenant();
  const enabled = useContext(PortalPermissions) === undefined;
  return useQuery({ ...accountQuery, enabled }).data?.workspaces.find(({ id }) => id === workspace)?.role;
}

/** Returns whether to show a control that requires the permission. The server also checks the permission. */
export function useMay(permission: Permission): boolean {
  const ofPortal = useContext(PortalPermissions);
  const role = useRole();
  return ofPortal ? ofPortal.includes(permission) : may(role, permission);
}

/** Query parameters; a parameter with several values is repeated. */
type Search = Readonly<Record<string, string | readonly string[] | undefined>>;

export function tenantPath({ workspace, environment }: Tenant, path: string, search: Search = {}): string {
  const filled = Object.entries(search).flatMap(([name, values]) =>
    [values ?? []].flat().flatMap((value) => (value === '' ? [] : [[name, value] as [string, string]])),
  );
  const query = filled.length > 0 ? `?${new URLSearchParams(filled)}` : '';
  return `/api/workspaces/${encodeURIComponent(workspace)}/${environment}${path}${query}`;
}

interface QueryOptions<T> {
  readonly search?: Search;
  readonly enabled?: boolean;
  /** Polling interval, or a function that returns it for the current data. false: no polling. */
  readonly everyMs?: number | false | ((data: T | undefined) => number | false);
}

function tenantKey({ workspace, environment }: Tenant, path: string): readonly string[] {
  return ['tenant', workspace, environment, path];
}

/** Queries data of this workspace and environment. `select` returns the data that the page uses. */
export function useTenantQuery<T, Selected = T>(
  path: string,
  {
    search = {},
    enabled = true,
    everyMs = false,
    select,
  }: QueryOptions<T> & { readonly select?: (data: T) => Selected } = {},
): UseQueryResult<Selected> {
  const tenant = useTenant();
  return useQuery({
    queryKey: [...tenantKey(tenant, path), search],
    queryFn: ({ signal }) => call<T>(tenantPath(tenant, path, search), { signal }),
    placeholderData: (previous, query) =>
      // Keeps the current page visible while the next one loads, but never data of another environment.
      query?.queryKey[2] === tenant.environment && query.queryKey[3] === path ? keepPreviousData(previous) : undefined,
    enabled,
    ...(select ? { select } : {}),
    refetchInterval: typeof everyMs === 'function' ? ({ state }) => everyMs(state.data) : everyMs,
  });
}

/** API list page. */
export interface List<T> {
  readonly data: readonly T[];
  /** `total` is null for lists that cannot be counted without a scan. */
  readonly meta: { readonly total: number | null; readonly page: number; readonly per_page: number };
  /** URLs of the neighboring pages. */
  readonly links: { readonly next: string | null; readonly prev: string | null };
}

/** A single object of the API. */
export interface One<T> {
  readonly data: T;
}

/** Returns the cursor in a list page's URL. */
export function cursorOf(link: string | null): string | null {
  return link === null ? null : new URLSearchParams(link.slice(link.indexOf('?'))).get('cursor');
}

/** Queries a single object of the API. */
export function useTenantObject<T>(
  path: string,
  { everyMs = false, ...options }: QueryOptions<T> = {},
): UseQueryResult<T> {
  const every = typeof everyMs === 'function' ? (one: One<T> | undefined) => everyMs(one?.data) : everyMs;
  return useTenantQuery<One<T>, T>(path, { ...options, everyMs: every, select: ({ data }) => data });
}

export interface Change {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

/**
 * Changes data of this workspace and environment, then reloads all its queries. Repeating a POST after a lost
 * response does not repeat the change.
 */
export function useTenantChange<T = unknown>(onDone?: (result: T) => void): UseMutationResult<T, Error, Change> {
  const tenant = useTenant();
  const client = useQueryClient();
  return useMutation({
    mutationFn({ method, path: changed, body }: Change) {
      const path = tenantPath(tenant, changed);
      if (method !== 'POST') return call<T>(path, { method, body });
      return withIntent(path, (idempotencyKey) => call<T>(path, { method, body, idempotencyKey }));
    },
    onSuccess(result) {
      void client.invalidateQueries({ queryKey: ['tenant', tenant.workspace] });
      onDone?.(result);
    },
  });
}

interface OptimisticOptions<Data, Input, Result> {
  /** Path of the query that shows the data. */
  readonly path: string;
  readonly change: (input: Input) => Change;
  readonly apply: (data: Data, input: Input) => Data;
  /** Message shown if the change fails. */
  readonly failureMessage: string;
  readonly onDone?: (result: Result) => void;
}

/** Like {@link useOptimisticChange}, for data of this workspace and environment. */
export function useOptimisticTenantChange<Data, Input, Result = unknown>({
  path,
  change,
  ...options
}: OptimisticOptions<Data, Input, Result>): UseMutationResult<Result, Error, Input> {
  const tenant = useTenant();
  return useOptimisticChange<Data, Input, Result>({
    ...options,
    queryKey: tenantKey(tenant, path),
    alsoReload: ['tenant', tenant.workspace],
    change(input) {
      const { method, path: changed, body } = change(input);
      return call<Result>(tenantPath(tenant, changed), { method, body });
    },
  });
}
