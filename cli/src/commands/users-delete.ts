import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { keysDocument, keysLines, revokeKeysOption, validKeysBy } from '../keys-of-user.ts';
import { print } from '../print.ts';
import { addUser, userRef } from '../user.ts';
import { userDocument } from '../users.ts';

interface Options {
  email?: string;
  revokeKeys?: boolean;
  json?: boolean;
}

export function usersDeleteCommand(): Command {
  return addUser(new Command('delete'))
    .description('delete a user and end all sessions; webhooks that the user created remain, and keys unless revoked')
    .addOption(revokeKeysOption())
    .action((argument: string | undefined, options: Options, command: Command) => {
      const ref = userRef(argument, options, command);
      return withServices(['users', 'keys'], async (services) => {
        const { revokeKeys = false } = options;
        const { user: found, memberships } = await services.users.getUser(ref);
        const workspaceIds = memberships.map(({ workspaceId }) => workspaceId);
        const keys = await validKeysBy(services, found?.id ?? '', workspaceIds);
        const { user, revokedKeys } = await services.users.deleteUser({ ...ref, revokeKeys });
        if (!user) return;
        const document = { ...userDocument(user), ...keysDocument(keys, revokedKeys) };
        print(options, document, () => [`Deleted ${user.email}.`, ...keysLines(keys, revokedKeys)].join('\n'));
      });
    });
}
