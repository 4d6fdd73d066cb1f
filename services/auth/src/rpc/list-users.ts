import { isId } from '@rms/ids';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { operatorsOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { toMembershipMessage, toUserMessage } from '../user/user-message.ts';
import { listUsers as readUsers } from '../user/user-queries.ts';
import { type HandlerParts, invalid, translated } from './handler.ts';

const largestPage = 1_000;

/** The page token is the id of the last user: whoever may list may see all of them. */
export function listUsers({ pool }: HandlerParts): Handlers<typeof UsersService>['listUsers'] {
  return ({ pageSize, pageToken }, context) =>
    translated(async () => {
      operatorsOnly(context);
      if (pageSize < 1 || pageSize > largestPage) throw invalid('page_size', `must be 1 to ${largestPage}`);
      if (pageToken !== '' && !isId('usr', pageToken)) throw invalid('page_token', 'is not of this list');
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
    });
}
