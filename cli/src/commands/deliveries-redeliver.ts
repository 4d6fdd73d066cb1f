import { RmsError } from '@rms/errors';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { type Services, withServices } from '../connect.ts';
import { deliveryDocument } from '../deliveries.ts';
import { describeFailure } from '../failure.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function deliveriesRedeliverCommand(): Command {
  return new Command('redeliver')
    .description('try deliveries again now, each with a full set of retries')
    .argument('<id...>', 'the deliveries')
    .addOption(workspaceOption())
    .action((ids: string[], options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { redelivered, failed } = await redeliver(services, workspaceId, [...new Set(ids)]);
        const text = () => redelivered.map(({ id }) => `${id} is tried again`).join('\n');
        // One delivery is one document, several are a list.
        if (ids.length > 1) print(options, { data: redelivered, failed }, text);
        else for (const delivery of redelivered) print(options, delivery, text);
        if (failed.length > 0) throw new Error(failed.map(({ error }) => error).join(' '));
      }),
    );
}

/** Each has an outcome of its own; once the service does not answer any more, the others are not tried. */
async function redeliver({ deliveries }: Services, workspaceId: string, ids: readonly string[]) {
  const redelivered: ReturnType<typeof deliveryDocument>[] = [];
  const failed: { id: string; error: string }[] = [];
  for (const [i, id] of ids.entries()) {
    try {
      const { delivery } = await deliveries.redeliverDelivery({ workspaceId, id });
      if (delivery) redelivered.push(deliveryDocument(delivery));
    } catch (error) {
      const isOfThisOne = error instanceof RmsError && (error.code === 'not_found' || error.code === 'conflict');
      if (!isOfThisOne && ids.length === 1) throw error;
      failed.push({ id, error: isOfThisOne ? error.message : describeFailure(error) });
      if (isOfThisOne) continue;
      failed.push(...ids.slice(i + 1).map((left) => ({ id: left, error: `${left} is not tried again.` })));
      break;
    }
  }
  return { redelivered, failed };
}
