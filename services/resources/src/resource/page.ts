import { RmsError } from '@rms/errors';
import { openToken, signToken } from '@rms/secrets';
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
}

/** Where a page starts: after or before one item, the last or first of the page that was seen. */
export interface PageStart {
  readonly direction: 'after' | 'before';
  /** The sort field's value of that item; its id if sorted by created_at. */
  readonly value: string;
  readonly id: string;
  /** The number of the page that starts here. */
  readonly page: number;
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

/** An opaque page token, good for this listing only. */
export function makePageToken(key: Buffer, listing: Listing, { direction, value, id, page }: PageStart): string {
  return signToken(key, JSON.stringify([direction === 'after' ? 1 : 0, value, id, page]), bindingOf(listing));
}

/** Reads a page token; throws `invalid_request` if it is broken, forged or of another listing. */
export function readPageToken(key: Buffer, listing: Listing, token: string): PageStart {
  const payload = openToken(key, token, bindingOf(listing));
  if (payload === undefined) {
    const message =
      'is not a cursor of this list; take it from links.next or links.prev, with the same status and sort';
    throw new RmsError('invalid_request', { details: [{ field: 'cursor', message }] });
  }
  const [after, value, id, page] = JSON.parse(payload) as [number, string, string, number];
  return { direction: after ? 'after' : 'before', value, id, page };
}

/** The value of the sort field, as {@link PageStart} carries it. */
export function sortValueOf({ field }: Sort, resource: Resource): string {
  if (field === 'created_at') return resource.id;
  return field === 'name' ? resource.name : resource.updatedAt.toISOString();
}

function bindingOf({ workspaceId, environment, status, sort }: Listing): string {
  return ['resources', workspaceId, environment, status ?? '', sort.field, sort.descending].join('\n');
}
