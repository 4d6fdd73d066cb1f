import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { addUser, userRef } from '../user.ts';
import { userDocument } from '../users.ts';

export function usersDisableCommand(): Command {
  return disableCommand('disable', 'block sign-in of a user and end all sessions; roles are kept', true);
}

export function usersEnableCommand(): Command {
  return disableCommand('enable', 'allow a disabled user to sign in again', false);
}

function disableCommand(name: string, description: string, disabled: boolean): Command {
  return addUser(new Command(name))
    .description(description)
    .action((argument: string | undefined, options: { email?: string; json?: boolean }, command: Command) => {
      const ref = userRef(argument, options, command);
      return withServices(['users'], async (services) => {
        const { user } = await services.users.setUserDisabled({ ...ref, disabled });
        if (!user) return;
        print(options, userDocument(user), () => `${disabled ? 'Disabled' : 'Enabled'} ${user.email}.`);
      });
    });
}
