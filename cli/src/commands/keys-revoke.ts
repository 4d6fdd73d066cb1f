import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { keyDocument } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function keysRevokeCommand(): Command {
  return new Command('revoke')
    .description('refuse a key from now on, everywhere')
    .argument('<id>', 'the key')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const { key } = await services.keys.revokeKey({ workspaceId: await workspaceOf(services, options), id });
        if (key) print(options, keyDocument(key), () => `${key.id} is revoked`);
      }),
    );
}
