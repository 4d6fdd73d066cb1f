import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { addUser, userRef } from '../user.ts';
import { userDocument } from '../users.ts';

interface Options {
  email?: string;
  secondFactor?: boolean;
  json?: boolean;
}

export function usersResetCommand(): Command {
  return addUser(new Command('reset'))
    .description('set a new password for a user, shown only once, and end all sessions')
    .option('--second-factor', 'also remove the second factor, if the user lost the device and the recovery codes')
    .action((argument: string | undefined, options: Options, command: Command) => {
      const ref = userRef(argument, options, command);
      return withServices(['users'], async (services) => {
        const removeSecondFactor = options.secondFactor ?? false;
        const { user, password } = await services.users.resetUser({ ...ref, removeSecondFactor });
        if (!user) return;
        print(options, { ...userDocument(user), password }, () => password);
      });
    });
}
