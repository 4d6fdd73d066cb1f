import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { time } from '../documents.ts';
import { print, table } from '../print.ts';

export function workspacesListCommand(): Command {
  return new Command('list').description('list workspaces, oldest first').action((options: { json?: boolean }) =>
    withServices(async (services) => {
      const { workspaces } = await services.workspaces.listWorkspaces({});
      const data = workspaces.map(({ id, name, createTime }) => ({ id, name, created_at: time(createTime) }));
      print(options, { data }, () =>
        table(
          ['ID', 'NAME'],
          data.map(({ id, name }) => [id, name]),
        ),
      );
    }),
  );
}
