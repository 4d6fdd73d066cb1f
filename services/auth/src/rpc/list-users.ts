import { isId } from '@rms/base/ids';
import type { Queryable } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { membershipsOf } from '../member/member-queries.ts';
import { invalid } from '../refusals.ts';
import type { User } from '../user/user.ts';
import { toMembershipMessage, toUserMessage } from '../user/user-message.ts';
import { toUser, type UserRow, userColumns } from '../user/user-queries.ts';
import { type HandlerParts, maxPageSize } from './handler.ts';

/**
 * Returns a page of users. The page token is the last user's ID. It needs no protection because a caller who may
 * list users may see all of them.
 */
export function listUsers({ pool }: HandlerParts): Handlers<typeof UsersService>['listUsers'] {
  return async ({ pageSize, pageToken }) => {
    if (pageSize < 1 || pageSize > maxPageSize) throw invalid('page_size', `must be 1 to ${maxPageSize}`);
    if (pageToken !== '' && !isId('usr', pageToken)) throw invalid('page_token', 'is not a page token of this list');
    const rows = await readUsers(pool, pageToken, pageSize + 1);
    const users = rows.slice(0, pageSize);
    const memberships = await membershipsOf(
      pool,
      users.map(({ id }) => id),
    );
    return {
      users: users.map((user) => ({
        user: toUserMessage(user),
        memberships: memberships.filter(({ userId }) => userId === user.id).map(toMembershipMessage),
      })),
      nextPageToken: rows.length > pageSize ? (users.at(-1)?.id ?? '') : '',
    };
  };
}

/** Returns a page of users in ID order, which is their creation order. */
async function readUsers(db: Queryable, after: string, limit: number): Promise<User[]> {
  const { rows } = await db.query<UserRow>(`select ${userColumns} from auth.users where id > $1 order by id limit $2`, [
    after,
    limit,
  ]);
  return rows.map(toUser);
}
