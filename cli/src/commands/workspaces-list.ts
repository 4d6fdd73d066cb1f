import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { workspaceDocument } from '../documents.ts';
import { print, table } from '../print.ts';

export function workspacesListCommand(): Command {
  return new Command('list').description('list workspaces, oldest first').action((options: { json?: boolean }) =>
    withServices(async (services) => {
      const { workspaces } = await services.workspaces.listWorkspaces({});
      const data = workspaces.map(workspaceDocument);
      print(options, { data }, () =>
        table(
          ['ID', 'NAME', 'PLAN'],
          data.map(({ id, name, plan }) => [id, name, plan ?? '']),
        ),
      );
    }),
  );
}
