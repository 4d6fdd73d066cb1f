import { RmsError } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';
import { metadataFilterPairs, metadataProblems } from '@rms/base/value-rules';
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
  /** Pairs that the metadata contains; none: no filter. */
  readonly metadata: readonly MetadataPair[];
}

export type MetadataPair = readonly [key: string, value: string];

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
 * serve the filter. A list by metadata has another index.
 */
export function checkNamePrefix(prefix: string, { field }: Sort, metadata: readonly MetadataPair[]): string {
  const message =
    [...prefix].length > 255
      ? 'must have at most 255 characters'
      : prefix.includes('\0')
        ? 'must not contain NUL'
        : prefix !== '' && field !== 'name' && metadata.length === 0
          ? 'requires sorting by name'
          : undefined;
  if (message) throw new RmsError('invalid_request', { details: [{ field: 'name_prefix', message }] });
  return prefix;
}

/** Parses a filter by metadata. Throws `invalid_request` if it is invalid, or the list is not sorted by creation. */
export function parseMetadataFilter(json: string, { field }: Sort): MetadataPair[] {
  if (json === '') return [];
  const metadata: unknown = JSON.parse(json);
  const details = metadataProblems(metadata, metadataFilterPairs).map(({ path, message }) => ({
    field: ['metadata', ...path].join('.'),
    message,
  }));
  if (field !== 'created_at') {
    details.push({ field: 'sort', message: 'must be created_at or -created_at in a list by metadata' });
  }
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return Object.entries(metadata as Record<string, string>).sort(([a], [b]) => (a < b ? -1 : 1));
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
export function bindingOf({ workspaceId, environment, status, sort, namePrefix, metadata }: Listing): string {
  // Tokens of the bytewise order of names are not valid, because the same position in this order has other neighbors.
  const order = sort.field === 'name' ? 'name_key' : sort.field;
  const parts = ['resources', workspaceId, environment, status ?? '', order, sort.descending];
  // An absent filter adds no part, so that tokens issued by versions without it remain valid.
  const byMetadata = metadata.length === 0 ? [] : [JSON.stringify(metadata)];
  return [...parts, ...(namePrefix === '' ? [] : [namePrefix]), ...byMetadata].join('\n');
}
