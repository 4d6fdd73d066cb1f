import { Argument, Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { updateAndPrint } from '../webhooks.ts';
import { workspaceWith } from '../workspace.ts';

export function webhooksOrderedCommand(): Command {
  return new Command('ordered')
    .description(
      'turn ordered delivery of a webhook on or off (the events of a resource arrive one at a time, in order)',
    )
    .argument('<id>', 'webhook ID')
    .addArgument(
      new Argument(
        '<on|off>',
        'on: each event waits until the previous event of its resource has been delivered or has failed',
      ).choices(['on', 'off']),
    )
    .addOption(workspaceOption())
    .action((id: string, choice: string, options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const change = { workspaceId, id, ordered: choice === 'on' };
        await updateAndPrint(
          services,
          change,
          options,
          ({ ordered }) => `${id} is ${ordered ? 'ordered' : 'not ordered'}`,
        );
      }),
    );
}
