import { toEnvironments } from '@rms/base/tenant';
import {
  cutPage,
  inTransaction,
  type PageRows,
  type Queryable,
  readFullPage,
  readPageToken,
  tokensOf,
} from '@rms/postgres/db';
import { type KeysService, KeyStatus as StatusMessage } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { type EnumNames, enumNames, type Handlers } from '@rms/rpc';
import type { KeyStatus, StoredKey } from '../key/key.ts';
import { toKeyMessages } from '../key/key-message.ts';
import { columns, hasStatus, isValid, type KeyPage, type KeyRow, maxKeysRead, toKey } from '../key/key-queries.ts';
import { invalid } from '../refusals.ts';
import { type HandlerParts, maxPageSize } from './handler.ts';

const maxNamePart = 100;
const statuses: EnumNames<KeyStatus, StatusMessage> = enumNames(StatusMessage);

export function listKeys({ pool, pageTokenKeys }: HandlerParts): Handlers<typeof KeysService>['listKeys'] {
  return async (request) => {
    const { workspaceId, pageToken, validOnly, ownLimitOnly, namePart, createdBy } = request;
    if (request.pageSize < 0 || request.pageSize > maxPageSize) {
      throw invalid('page_size', `must be 0 to ${maxPageSize}`);
    }
    if (namePart.length > maxNamePart) throw invalid('name', `must have at most ${maxNamePart} characters`);
    const pageSize = request.pageSize || maxPageSize;
    const environments = toEnvironments(request.environment);
    const status = statuses.toName(request.status);
    const filter = [validOnly, ownLimitOnly, status ?? '', namePart, createdBy];
    const binding = JSON.stringify(['keys', workspaceId, environments, ...filter]);
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const match = { workspaceId, environments, validOnly, ownLimitOnly, status, namePart, createdBy };
    // One snapshot, so that keys created between the queries do not shift the last key that was read.
    return inTransaction(pool, async (tx) => {
      await tx.query('set transaction isolation level repeatable read, read only');
      const { rows, scanEnd } = await readFullPage(start, pageSize + 1, (from, limit) =>
        listKeysOf(tx, { ...match, start: from, limit }),
      );
      const cut = cutPage(rows, pageSize, start, scanEnd);
      return {
        keys: await toKeyMessages(tx, cut.items),
        ...tokensOf(pageTokenKeys, binding, cut, start, ({ id }) => [id]),
        page: cut.page,
        pageSize,
      };
    });
  };
}

/**
 * Returns up to `limit` keys of a workspace after or before `start`, newest first. Reads one index range per
 * environment. With a filter, it reads at most {@link maxKeysRead} keys; if it stops there, `scanEnd` has the ID of the
 * last key that it read.
 */
async function listKeysOf(db: Queryable, page: KeyPage): Promise<PageRows<StoredKey>> {
  const { workspaceId, environments, start, limit } = page;
  const backwards = start?.direction === 'before';
  const order = backwards ? 'asc' : 'desc';
  const inOrder = (selected: string, most: string) => `
    select key.*
      from unnest($2::text[]) as requested (name)
           cross join lateral (
             select ${selected} from auth.keys
              where workspace_id = $1 and environment = requested.name and id ${backwards ? '>' : '<'} $3
              order by id ${order} limit ${most}
           ) as key
     order by id ${order}`;
  // "~" sorts after every ID.
  const values: unknown[] = [workspaceId, environments, start?.keys[0] ?? '~'];
  const listed = (rows: KeyRow[]) => (backwards ? rows.map(toKey).reverse() : rows.map(toKey));
  const { status, namePart, createdBy } = page;
  const filters = [
    ...(page.validOnly ? [isValid] : []),
    ...(page.ownLimitOnly ? ['rate_limit_requests is not null'] : []),
    ...(status ? [hasStatus[status]] : []),
    ...(namePart === '' ? [] : ['strpos(lower(name), lower($5)) > 0']),
    ...(createdBy === '' ? [] : [`created_by = $${namePart === '' ? 5 : 6}`]),
  ];
  if (filters.length === 0) {
    const { rows } = await db.query<KeyRow>(`${inOrder(columns, '$4')} limit $4`, [...values, limit]);
    return { rows: listed(rows), scanEnd: undefined };
  }
  // As a subquery, the limit is unknown to the planner, which then reads the index in order instead of sorting.
  const most = `(select ${maxKeysRead})`;
  const { rows } = await db.query<KeyRow>(
    `select * from (${inOrder(columns, most)} limit ${most}) as read
      where ${filters.join(' and ')}
      order by id ${order} limit $4`,
    [...values, limit, ...[namePart, createdBy].filter((one) => one !== '')],
  );
  if (rows.length === limit) return { rows: listed(rows), scanEnd: undefined };
  const last = await db.query<{ id: string }>(
    `${inOrder('id', most)} offset (select ${maxKeysRead - 1}) limit 1`,
    values,
  );
  const [end] = last.rows;
  return { rows: listed(rows), scanEnd: end && [end.id] };
}
