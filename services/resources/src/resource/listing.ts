import { RmsError } from '@rms/errors';
import type { Resource, ResourceStatus, Tenant } from './resource.ts';

export type SortField = 'created_at' | 'updated_at' | 'name';

export interface Sort {
  readonly field: SortField;
  readonly descending: boolean;
}

/** What a list is a list of. */
export interface Listing extends Tenant {
  readonly status: ResourceStatus | undefined;
  readonly sort: Sort;
  /** Of the names; empty: any. */
  readonly namePrefix: string;
}

const sortFields: readonly SortField[] = ['created_at', 'updated_at', 'name'];

/** "name" or "-name"; empty is "-created_at". Throws `invalid_request`. */
export function parseSort(text: string): Sort {
  const descending = text === '' || text.startsWith('-');
  const name = text === '' ? 'created_at' : text.slice(descending ? 1 : 0);
  const field = sortFields.find((candidate) => candidate === name);
  if (!field) {
    const message = `must be one of ${sortFields.join(', ')}, with "-" in front for descending`;
    throw new RmsError('invalid_request', { details: [{ field: 'sort', message }] });
  }
  return { field, descending };
}

/** Throws `invalid_request` for a prefix of names in another order: its range would be no range of an index. */
export function checkNamePrefix(prefix: string, { field }: Sort): string {
  const message =
    [...prefix].length > 255
      ? 'must have at most 255 characters'
      : prefix.includes('\0')
        ? 'must not contain NUL'
        : prefix !== '' && field !== 'name'
          ? 'needs the order of names'
          : undefined;
  if (message) throw new RmsError('invalid_request', { details: [{ field: 'name_prefix', message }] });
  return prefix;
}

/** The sort keys of a resource, the last of which is its id; the id alone holds the time of creation. */
export function sortKeysOf({ field }: Sort, resource: Resource): string[] {
  if (field === 'created_at') return [resource.id];
  return [field === 'name' ? resource.name : resource.updatedAt.toISOString(), resource.id];
}

/** What a page token of this listing is bound to. */
export function bindingOf({ workspaceId, environment, status, sort, namePrefix }: Listing): string {
  const parts = ['resources', workspaceId, environment, status ?? '', sort.field, sort.descending];
  // Tokens of lists without a prefix stay what they are.
  return [...parts, ...(namePrefix === '' ? [] : [namePrefix])].join('\n');
}
