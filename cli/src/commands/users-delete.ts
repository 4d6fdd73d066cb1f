import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { userRef } from '../user.ts';
import { userDocument } from '../users.ts';

export function usersDeleteCommand(): Command {
  return new Command('delete')
    .description('delete a user and end all sessions; keys and webhooks that the user created remain')
    .argument('<user>', 'email address or ID')
    .action((emailOrId: string, options: { json?: boolean }) =>
      withServices(['users'], async (services) => {
        const { user } = await services.users.deleteUser(userRef(emailOrId));
        if (!user) return;
        print(options, userDocument(user), () => `Deleted ${user.email}.`);
      }),
    );
}
