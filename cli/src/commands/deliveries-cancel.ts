import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { listedDelivery } from '../deliveries.ts';
import { print } from '../print.ts';
import { type WorkspaceOptions, workspaceWith } from '../workspace.ts';

export function deliveriesCancelCommand(): Command {
  return new Command('cancel')
    .description('end a pending or retrying delivery; it is not attempted again unless it is redelivered')
    .argument('<id>', 'delivery ID')
    .addOption(workspaceOption())
    .action((id: string, options: WorkspaceOptions & { json?: boolean }) =>
      withServices(['workspaces', 'deliveries', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const { delivery } = await services.deliveries.cancelDelivery({ workspaceId, id });
        if (delivery) print(options, listedDelivery(delivery), () => `Canceled ${id}.`);
      }),
    );
}
