import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { listedWorkspace } from '../documents.ts';
import { print } from '../print.ts';

export function workspacesCreateCommand(): Command {
  return new Command('create')
    .description('create a workspace')
    .requiredOption('--name <name>', 'name of the workspace')
    .option('--if-none', 'create only if there is no workspace yet; otherwise show the oldest')
    .action((options: { name: string; ifNone?: boolean; json?: boolean }) =>
      withServices(['workspaces'], async ({ workspaces }) => {
        // listWorkspaces returns workspaces in order of creation.
        const [oldest] = options.ifNone ? (await workspaces.listWorkspaces({ pageSize: 1 })).workspaces : [];
        const workspace = oldest ?? (await workspaces.createWorkspace({ name: options.name })).workspace;
        const document = listedWorkspace(workspace);
        print(options, document, () => document.id);
      }),
    );
}
