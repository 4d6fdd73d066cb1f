import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { whom } from '../person.ts';
import { print } from '../print.ts';
import { userDocument } from '../users.ts';

export function usersDisableCommand(): Command {
  return turning('disable', 'let a person in no more, and end all their sessions; their roles stay', true);
}

export function usersEnableCommand(): Command {
  return turning('enable', 'let a person in again who was disabled', false);
}

function turning(name: string, description: string, disabled: boolean): Command {
  return new Command(name)
    .description(description)
    .argument('<person>', 'the e-mail address, or the id')
    .action((person: string, options: { json?: boolean }) =>
      withServices(async (services) => {
        const { user } = await services.users.setUserDisabled({ ...whom(person), disabled });
        if (!user) return;
        print(options, userDocument(user), () => `${user.email} ${disabled ? 'is disabled' : 'may sign in again'}`);
      }),
    );
}
