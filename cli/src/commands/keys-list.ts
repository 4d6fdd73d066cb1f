import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { keyDocument } from '../documents.ts';
import { print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function keysListCommand(): Command {
  return new Command('list')
    .description('list API keys of both environments, newest first')
    .addOption(workspaceOption())
    .action((options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const { keys } = await services.keys.listKeys({ workspaceId: await workspaceOf(services, options) });
        const data = keys.map((key) => keyDocument(key));
        print(options, { data }, () =>
          table(
            ['ID', 'ENVIRONMENT', 'SCOPE', 'HINT', 'NAME', 'STATE'],
            data.map((key) => [key.id, key.environment, key.scope, key.hint ?? '', key.name, stateOf(key)]),
          ),
        );
      }),
    );
}

function stateOf(key: ReturnType<typeof keyDocument>): string {
  if (key.revoked_at) return 'revoked';
  if (key.rolled_at) return `rolled ${key.rolled_at}`;
  return key.expires_at ? `expires ${key.expires_at}` : 'active';
}
