import { RmsError } from '../errors/index.ts';

/** Maximum number of workspaces that a lookup returns. */
const maxFound = 20;
/** Bounds a statement's duration in {@link findInPages}. */
const ownersPerPage = 1_000;

/** Returns up to `limit` workspaces that have an object, in ID order. */
export type FindOwners = (id: string, limit: number) => Promise<readonly string[]>;

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
