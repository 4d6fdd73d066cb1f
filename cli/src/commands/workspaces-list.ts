import { Command } from 'commander';
import { positiveNumber } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { listedWorkspace } from '../documents.ts';
import { takePages } from '../pages.ts';
import { note, print, table } from '../print.ts';

interface Options {
  limit: number;
  json?: boolean;
}

export function workspacesListCommand(): Command {
  return new Command('list')
    .description('list workspaces, oldest first')
    .option('--limit <n>', 'maximum number of workspaces', positiveNumber, 1_000)
    .action((options: Options) =>
      withServices(['workspaces'], async (services) => {
        const { found, more } = await takePages(options.limit, async (page) => {
          const { workspaces: items, nextPageToken } = await services.workspaces.listWorkspaces({
            ...page,
            includeDeleting: true,
          });
          return { items, nextPageToken };
        });
        const data = found.map(listedWorkspace);
        print(options, { data }, () =>
          table(
            ['ID', 'NAME', 'PLAN', 'STATE'],
            data.map(({ id, name, plan, deletion_started_at }) => [
              ...[id, name, plan ?? '', deletion_started_at ? 'being deleted' : 'active'],
            ]),
          ),
        );
        if (more) note(`showing the oldest ${data.length} workspaces; --limit shows more`);
      }),
    );
}
