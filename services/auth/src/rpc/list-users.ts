import { isId } from '@rms/base/ids';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { membershipsOf } from '../member/member-queries.ts';
import { invalid } from '../refusals.ts';
import { toMembershipMessage, toUserMessage } from '../user/user-message.ts';
import { listUsers as readUsers } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

const maxPageSize = 1_000;

/**
 * Returns a page of users. The page token is the ID of the last user. It needs no protection because a caller who may
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
