import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { addUser, userRef } from '../user.ts';
import { userDocument } from '../users.ts';

export function usersDeleteCommand(): Command {
  return addUser(new Command('delete'))
    .description('delete a user and end all sessions; keys and webhooks that the user created remain')
    .action((argument: string | undefined, options: { email?: string; json?: boolean }, command: Command) => {
      const ref = userRef(argument, options, command);
      return withServices(['users'], async (services) => {
        const { user } = await services.users.deleteUser(ref);
        if (!user) return;
        print(options, userDocument(user), () => `Deleted ${user.email}.`);
      });
    });
}
