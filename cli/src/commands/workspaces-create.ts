import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { time } from '../documents.ts';
import { print } from '../print.ts';

export function workspacesCreateCommand(): Command {
  return new Command('create')
    .description('make a workspace')
    .requiredOption('--name <name>', 'its name')
    .action((options: { name: string; json?: boolean }) =>
      withServices(async (services) => {
        const { workspace } = await services.workspaces.createWorkspace({ name: options.name });
        if (!workspace) return;
        const document = { id: workspace.id, name: workspace.name, created_at: time(workspace.createTime) };
        print(options, document, () => workspace.id);
      }),
    );
}
