import { type Role, roles } from '@rms/base/roles';
import { Command, Option } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { roleNames, userDocument } from '../users.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  email: string;
  name?: string;
  role: Role;
  workspace?: string;
  json?: boolean;
}

export function usersCreateCommand(): Command {
  return new Command('create')
    .description('add a user to a workspace; the password of a new user is shown only once')
    .requiredOption('--email <address>', 'email address for signing in to the dashboard')
    .option('--name <name>', 'name of the user')
    .addOption(new Option('--role <role>', 'role in the workspace').choices(roles).makeOptionMandatory())
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(['workspaces', 'users'], async (services) => {
        const { email, name = '' } = options;
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
            ? `${user.email} is ${options.role} of ${workspaceId}. The password is shown only once:\n${password}`
            : `${user.email} is now also ${options.role} of ${workspaceId}. The password is unchanged.`,
        );
      }),
    );
}
