import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { userRef } from '../user.ts';
import { userDocument } from '../users.ts';

interface Options {
  secondFactor?: boolean;
  json?: boolean;
}

export function usersResetCommand(): Command {
  return new Command('reset')
    .description('set a new password for a user, shown only once, and end all sessions')
    .argument('<user>', 'email address or ID')
    .option('--second-factor', 'also remove the second factor, if the user lost the device and the recovery codes')
    .action((emailOrId: string, options: Options) =>
      withServices(['users'], async (services) => {
        const removeSecondFactor = options.secondFactor ?? false;
        const { user, password } = await services.users.resetUser({ ...userRef(emailOrId), removeSecondFactor });
        if (!user) return;
        print(options, { ...userDocument(user), password }, () => password);
      }),
    );
}
