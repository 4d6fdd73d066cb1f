import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { whom } from '../person.ts';
import { print } from '../print.ts';
import { userDocument } from '../users.ts';

interface Options {
  secondFactor?: boolean;
  json?: boolean;
}

export function usersResetCommand(): Command {
  return new Command('reset')
    .description('give a person a new password, shown this once, and end all their sessions')
    .argument('<person>', 'the e-mail address, or the id')
    .option('--second-factor', 'also take the second factor away: the device and the recovery codes are lost')
    .action((person: string, options: Options) =>
      withServices(async (services) => {
        const removeSecondFactor = options.secondFactor ?? false;
        const { user, password } = await services.users.resetUser({ ...whom(person), removeSecondFactor });
        if (!user) return;
        print(options, { ...userDocument(user), password }, () => password);
      }),
    );
}
