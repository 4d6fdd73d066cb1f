import { type Role, roles } from '@rms/roles';
import { Command, Option } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { roleNames, userDocument } from '../users.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  email: string;
  name: string;
  role: Role;
  workspace?: string;
  json?: boolean;
}

export function usersCreateCommand(): Command {
  return new Command('create')
    .description('make a person a member of a workspace; the password of somebody new is shown this once')
    .requiredOption('--email <address>', 'by which the person signs in to the dashboard')
    .option('--name <name>', 'what the person is called', '')
    .addOption(new Option('--role <role>', 'what the person may do').choices(roles).default('owner'))
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(async (services) => {
        const { email, name } = options;
        const workspaceId = await workspaceOf(services, options);
        const role = roleNames.toValue(options.role);
        const { user, created, password } = await services.users.createUser({ email, name, workspaceId, role });
        if (!user) return;
        const document = {
          ...userDocument(user),
          created,
          ...(created ? { password } : {}),
          workspace: workspaceId,
          role: options.role,
        };
        print(options, document, () =>
          created
            ? `${user.email} is ${options.role} of ${workspaceId}; the password, shown this once:\n${password}`
            : `${user.email} is ${options.role} of ${workspaceId} as well; the password stays`,
        );
      }),
    );
}
