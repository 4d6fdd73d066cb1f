import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { time } from '../documents.ts';
import { print } from '../print.ts';

export function workspacesCreateCommand(): Command {
  return new Command('create')
    .description('make a workspace')
    .requiredOption('--name <name>', 'its name')
    .option('--if-none', 'only if there is no workspace yet; else the oldest is shown')
    .action((options: { name: string; ifNone?: boolean; json?: boolean }) =>
      withServices(async ({ workspaces }) => {
        // In the order in which they were made.
        const [oldest] = options.ifNone ? (await workspaces.listWorkspaces({})).workspaces : [];
        const workspace = oldest ?? (await workspaces.createWorkspace({ name: options.name })).workspace;
        if (!workspace) return;
        const document = { id: workspace.id, name: workspace.name, created_at: time(workspace.createTime) };
        print(options, document, () => workspace.id);
      }),
    );
}
