import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { keysDocument, keysLines, revokeKeysOption, validKeysBy } from '../keys-of-user.ts';
import { print } from '../print.ts';
import { addUser, userRef } from '../user.ts';
import { userDocument } from '../users.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  email?: string;
  workspace?: string;
  revokeKeys?: boolean;
  json?: boolean;
}

export function usersRemoveCommand(): Command {
  return addUser(new Command('remove'))
    .description('remove a user from a workspace; keys that the user created there stay valid unless revoked')
    .addOption(workspaceOption())
    .addOption(revokeKeysOption())
    .action((argument: string | undefined, options: Options, command: Command) => {
      const ref = userRef(argument, options, command);
      return withServices(['workspaces', 'users', 'members', 'keys'], async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { user } = await services.users.getUser(ref);
        if (!user) return;
        const keys = await validKeysBy(services, user.id, [workspaceId]);
        const { revokeKeys = false } = options;
        const { revokedKeys } = await services.members.removeMember({ workspaceId, userId: user.id, revokeKeys });
        const document = { ...userDocument(user), workspace: workspaceId, ...keysDocument(keys, revokedKeys) };
        print(options, document, () =>
          [`Removed ${user.email} from ${workspaceId}.`, ...keysLines(keys, revokedKeys)].join('\n'),
        );
      });
    });
}
