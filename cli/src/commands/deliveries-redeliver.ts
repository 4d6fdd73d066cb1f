import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { deliveryDocument } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function deliveriesRedeliverCommand(): Command {
  return new Command('redeliver')
    .description('try one delivery again now, with a full set of retries')
    .argument('<id>', 'the delivery')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { delivery } = await services.deliveries.redeliverDelivery({ workspaceId, id });
        if (delivery) print(options, deliveryDocument(delivery), () => `${id} is tried again`);
      }),
    );
}
