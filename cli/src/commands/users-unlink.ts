import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { addUser, userRef } from '../user.ts';
import { userDocument } from '../users.ts';

interface Options {
  email?: string;
  issuer: string;
  json?: boolean;
}

export function usersUnlinkCommand(): Command {
  return addUser(new Command('unlink'))
    .description('unlink the identity of a user at an identity provider and end all sessions')
    .requiredOption('--issuer <url>', 'issuer of the identity, as shown by users show')
    .action((argument: string | undefined, options: Options, command: Command) => {
      const ref = userRef(argument, options, command);
      return withServices(['users'], async (services) => {
        const { user } = await services.users.unlinkIdentity({ ...ref, issuer: options.issuer });
        if (!user) return;
        print(options, userDocument(user), () => `Unlinked ${options.issuer} from ${user.email}.`);
      });
    });
}
