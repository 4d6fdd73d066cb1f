import { RmsError } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';
import type { Resource, ResourceStatus } from './resource.ts';

export type SortField = 'created_at' | 'updated_at' | 'name';

export interface Sort {
  readonly field: SortField;
  readonly descending: boolean;
}

/** A list's filter and sort. */
export interface Listing extends Tenant {
  readonly status: ResourceStatus | undefined;
  readonly sort: Sort;
  /** Prefix of the resource names, in any case, accents and Unicode form; empty means no filter. */
  readonly namePrefix: string;
}

const sortFields: readonly SortField[] = ['created_at', 'updated_at', 'name'];

/** Parses "name" or "-name"; empty means "-created_at". Throws `invalid_request`. */
export function parseSort(text: string): Sort {
  const descending = text === '' || text.startsWith('-');
  const name = text === '' ? 'created_at' : text.slice(descending ? 1 : 0);
  const field = sortFields.find((candidate) => candidate === name);
  if (!field) {
    const message = `must be one of ${sortFields.join(', ')}, prefixed with "-" for descending order`;
    throw new RmsError('invalid_request', { details: [{ field: 'sort', message }] });
  }
  return { field, descending };
}

/**
 * Checks a name prefix. Throws `invalid_request` unless the list is sorted by name, because only the name index can
 * serve the filter.
 */
export function checkNamePrefix(prefix: string, { field }: Sort): string {
  const message =
    [...prefix].length > 255
      ? 'must have at most 255 characters'
      : prefix.includes('\0')
        ? 'must not contain NUL'
        : prefix !== '' && field !== 'name'
          ? 'requires sorting by name'
          : undefined;
  if (message) throw new RmsError('invalid_request', { details: [{ field: 'name_prefix', message }] });
  return prefix;
}

/**
 * Returns the sort keys of a resource, ending with its ID. The ID alone is the key for `created_at`, because it
 * contains the creation time.
 */
export function sortKeysOf({ field }: Sort, resource: Resource): string[] {
  if (field === 'created_at') return [resource.id];
  return [field === 'name' ? resource.name : resource.updatedAt.toISOString(), resource.id];
}

/** Returns the text that a page token of this listing is bound to. */
export function bindingOf({ workspaceId, environment, status, sort, namePrefix }: Listing): string {
  // Tokens of the bytewise order of names are not valid, because the same position in this order has other neighbors.
  const order = sort.field === 'name' ? 'name_key' : sort.field;
  const parts = ['resources', workspaceId, environment, status ?? '', order, sort.descending];
  // An empty prefix adds no part, so that tokens issued by versions without prefixes remain valid.
  return [...parts, ...(namePrefix === '' ? [] : [namePrefix])].join('\n');
}
