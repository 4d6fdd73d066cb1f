import { Environment as EnvironmentMessage } from '@rms/proto/rms/common/v1/common_pb';
import { RmsError } from '../errors/index.ts';

/** A workspace's environments. Their data are separate. */
export const environments = ['live', 'sandbox'] as const;
export type Environment = (typeof environments)[number];

/** The workspace and environment that own the data, the unit of isolation. Every query is keyed by both. */
export interface Tenant {
  readonly workspaceId: string;
  readonly environment: Environment;
}

/** A workspace's data that a caller may access: one environment for API clients, both for operators. */
export interface TenantScope {
  readonly workspaceId: string;
  readonly environments: readonly Environment[];
}

interface Request {
  readonly workspaceId: string;
  readonly environment: EnvironmentMessage;
}

const messages: Readonly<Record<Environment, EnvironmentMessage>> = {
  live: EnvironmentMessage.LIVE,
  sandbox: EnvironmentMessage.SANDBOX,
};
const maxIdLength = 64;

export function toEnvironmentMessage(environment: Environment): EnvironmentMessage {
  return messages[environment];
}

/** Returns undefined for an unspecified or unknown environment. */
export function environmentOf(message: EnvironmentMessage): Environment | undefined {
  return environments.find((environment) => messages[environment] === message);
}

/** Converts an environment. Throws `invalid_request` if it is unspecified or unknown. */
export function fromEnvironmentMessage(message: EnvironmentMessage): Environment {
  const environment = environmentOf(message);
  if (environment) return environment;
  throw new RmsError('invalid_request', { details: [{ field: 'environment', message: 'must be live or sandbox' }] });
}

/** Returns a request's tenant. Throws `invalid_request` without a workspace ID or without an environment. */
export function toTenant({ workspaceId, environment }: Request): Tenant {
  return { workspaceId: checkWorkspaceId(workspaceId), environment: fromEnvironmentMessage(environment) };
}

/**
 * Returns a request's scope. An unspecified environment means both, which only operators may request. Throws
 * `invalid_request` without a workspace ID or with an unknown environment.
 */
export function toScope({ workspaceId, environment }: Request): TenantScope {
  return { workspaceId: checkWorkspaceId(workspaceId), environments: toEnvironments(environment) };
}

/** Returns the environments that a filter matches: both if it is unspecified. Throws `invalid_request` if unknown. */
export function toEnvironments(message: EnvironmentMessage): readonly Environment[] {
  return message === EnvironmentMessage.UNSPECIFIED ? environments : [fromEnvironmentMessage(message)];
}

function checkWorkspaceId(workspaceId: string): string {
  if (workspaceId !== '' && workspaceId.length <= maxIdLength) return workspaceId;
  throw new RmsError('invalid_request', { details: [{ field: 'workspace_id', message: 'must be a workspace ID' }] });
}

/** Maximum number of workspaces that a lookup returns. */
const maxFound = 20;
/** Bounds a statement's duration in {@link findInPages}. */
const ownersPerPage = 1_000;

/** Returns up to `limit` workspaces that have an object, in ID order. */
type FindOwners = (id: string, limit: number) => Promise<readonly string[]>;

/** Creates the handler of FindWorkspaces, the method of LookupService. Throws `invalid_request` without an ID. */
export function workspaceFinder(findOwners: FindOwners) {
  return async ({ id }: { readonly id: string }): Promise<{ workspaceIds: string[] }> => {
    if (id === '') throw new RmsError('invalid_request', { details: [{ field: 'id', message: 'must not be empty' }] });
    return { workspaceIds: [...(await findOwners(id, maxFound))] };
  };
}

/** The result of probing a page of possible owners. */
export interface ProbedPage<Owner> {
  /** Workspaces of the page that have the object. */
  readonly found: readonly string[];
  /** Number of owners in the page. */
  readonly probed: number;
  /** The last owner of the page; undefined if it is empty. */
  readonly last: Owner | undefined;
}

/**
 * Finds an object that no index finds without its owner: probes the possible owners page by page, in the order of their
 * workspaces. Returns up to `limit` workspaces.
 * @param probe probes up to `size` owners after `after`
 */
export async function findInPages<Owner>(
  probe: (after: Owner | undefined, size: number) => Promise<ProbedPage<Owner>>,
  limit: number,
): Promise<string[]> {
  const found = new Set<string>();
  let after: Owner | undefined;
  do {
    const page = await probe(after, ownersPerPage);
    for (const id of page.found) found.add(id);
    after = page.probed < ownersPerPage ? undefined : page.last;
  } while (after !== undefined && found.size < limit);
  return [...found].slice(0, limit);
}
