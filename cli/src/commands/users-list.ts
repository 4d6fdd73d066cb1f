import { Command } from 'commander';
import { positiveNumber } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { takePages } from '../pages.ts';
import { note, print, table } from '../print.ts';
import { membershipDocument, userDocument } from '../users.ts';

interface Options {
  limit: number;
  json?: boolean;
}

export function usersListCommand(): Command {
  return new Command('list')
    .description('list users and their workspaces, oldest first')
    .option('--limit <n>', 'maximum number of users', positiveNumber, 1_000)
    .action((options: Options) =>
      withServices(['users'], async (services) => {
        const { found, more } = await takePages(options.limit, async (page) => {
          const { users: items, nextPageToken } = await services.users.listUsers(page);
          return { items, nextPageToken };
        });
        const data = found.flatMap(({ user, memberships }) =>
          user ? [{ ...userDocument(user), workspaces: memberships.map(membershipDocument) }] : [],
        );
        print(options, { data }, () =>
          table(
            ['ID', 'EMAIL', 'NAME', 'SECOND FACTOR', 'LAST SIGN-IN', 'STATE', 'WORKSPACES'],
            data.map((one) => [
              ...[one.id, one.email, one.name ?? '', one.second_factor ? 'on' : 'off', one.last_sign_in_at ?? 'never'],
              one.disabled_at ? 'disabled' : 'active',
              one.workspaces.map(({ id, name, role }) => `${role} of ${name} (${id})`).join(', '),
            ]),
          ),
        );
        if (more) note(`showing the oldest ${data.length} users; --limit shows more`);
      }),
    );
}
