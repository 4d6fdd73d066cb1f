import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { whom } from '../person.ts';
import { print } from '../print.ts';
import { userDocument } from '../users.ts';

export function usersDeleteCommand(): Command {
  return new Command('delete')
    .description('forget a person, and end all their sessions; what they have made stays')
    .argument('<person>', 'the e-mail address, or the id')
    .action((person: string, options: { json?: boolean }) =>
      withServices(async (services) => {
        const { user } = await services.users.deleteUser(whom(person));
        if (!user) return;
        print(options, userDocument(user), () => `${user.email} is deleted`);
      }),
    );
}
