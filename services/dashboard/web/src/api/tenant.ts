import { may, type Permission, type Role } from '@rms/roles';
import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useAccount } from './account.ts';
import { call } from './client.ts';
import { useOptimisticChange } from './optimistic.ts';

export interface Tenant {
  readonly workspace: string;
  readonly environment: 'live' | 'sandbox';
}

/** The workspace and environment of the address; also the `params` of links within it. */
export function useTenant(): Tenant {
  const { workspace = '', environment } = useParams({ strict: false });
  return { workspace, environment: environment === 'sandbox' ? 'sandbox' : 'live' };
}

/** What the person is in this workspace. */
export function useRole(): Role | undefined {
  const { workspace } = useTenant();
  return useAccount().workspaces.find(({ id }) => id === workspace)?.role;
}

/** Whether to show something; the back end refuses it in any case. */
export function useMay(permission: Permission): boolean {
  return may(useRole(), permission);
}

type Search = Readonly<Record<string, string | undefined>>;

export function tenantPath({ workspace, environment }: Tenant, path: string, search: Search = {}): string {
  const given = Object.entries(search).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = given.length > 0 ? `?${new URLSearchParams(given)}` : '';
  return `/api/workspaces/${encodeURIComponent(workspace)}/${environment}${path}${query}`;
}

interface QueryOptions {
  readonly search?: Search;
  readonly enabled?: boolean;
  /** Asks again so often; false: not by itself. */
  readonly everyMs?: number | false;
}

function tenantKey({ workspace, environment }: Tenant, path: string): readonly string[] {
  return ['tenant', workspace, environment, path];
}

/** Reads something of this workspace and environment. */
export function useTenantQuery<T>(
  path: string,
  { search = {}, enabled = true, everyMs = false }: QueryOptions = {},
): UseQueryResult<T> {
  const tenant = useTenant();
  return useQuery({
    queryKey: [...tenantKey(tenant, path), search],
    queryFn: ({ signal }) => call<T>(tenantPath(tenant, path, search), { signal }),
    placeholderData: (previous, query) =>
      // A page stands while its next one is read, but nothing of another environment does.
      query?.queryKey[2] === tenant.environment && query.queryKey[3] === path ? keepPreviousData(previous) : undefined,
    enabled,
    refetchInterval: everyMs,
  });
}

export interface Change {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

/** Changes something of this workspace and environment; all that is shown of it is read again. */
export function useTenantChange<T = unknown>(onDone?: (answer: T) => void): UseMutationResult<T, Error, Change> {
  const tenant = useTenant();
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ method, path, body }: Change) => call<T>(tenantPath(tenant, path), { method, body }),
    onSuccess(answer) {
      void client.invalidateQueries({ queryKey: ['tenant', tenant.workspace] });
      onDone?.(answer);
    },
  });
}

interface OptimisticOptions<Shown, Given, Answer> {
  /** Where what is shown was read from. */
  readonly path: string;
  readonly change: (given: Given) => Change;
  readonly apply: (shown: Shown, given: Given) => Shown;
  /** Said if it is refused. */
  readonly undone: string;
  readonly onDone?: (answer: Answer) => void;
}

/** Changes something of this workspace and environment that is shown as changed at once (see {@link useOptimisticChange}). */
export function useOptimisticTenantChange<Shown, Given, Answer = unknown>({
  path,
  change,
  ...options
}: OptimisticOptions<Shown, Given, Answer>): UseMutationResult<Answer, Error, Given> {
  const tenant = useTenant();
  return useOptimisticChange<Shown, Given, Answer>({
    ...options,
    queryKey: tenantKey(tenant, path),
    alsoRead: ['tenant', tenant.workspace],
    change(given) {
      const { method, path: changed, body } = change(given);
      return call<Answer>(tenantPath(tenant, changed), { method, body });
    },
  });
}
