import { RmsError } from '@rms/base/errors';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { listedDelivery } from '../deliveries.ts';
import { describeFailure } from '../failure.ts';
import { print } from '../print.ts';
import type { Services } from '../services.ts';
import { workspaceFinder } from '../workspace.ts';

export function deliveriesRedeliverCommand(): Command {
  return new Command('redeliver')
    .description('redeliver now, with all retries of the retry policy')
    .argument('<id...>', 'delivery IDs')
    .addOption(workspaceOption())
    .action((ids: string[], options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'deliveries', 'webhooksLookup'], async (services) => {
        const workspaceWithId = await workspaceFinder(services, options, [services.webhooksLookup]);
        const { redelivered, failed } = await redeliver(services, workspaceWithId, [...new Set(ids)]);
        const text = () => redelivered.map(({ id }) => `Redelivering ${id}.`).join('\n');
        // For a single ID, the JSON output is a document; for several IDs, a list.
        if (ids.length > 1) print(options, { data: redelivered, failed }, text);
        else for (const delivery of redelivered) print(options, delivery, text);
        if (failed.length > 0) throw new Error(failed.map(({ error }) => error).join(' '));
      }),
    );
}

/** Redelivers one by one. After an error of the service itself, does not attempt the remaining deliveries. */
async function redeliver(
  { deliveries }: Pick<Services, 'deliveries'>,
  workspaceWithId: (id: string) => Promise<string>,
  ids: readonly string[],
) {
  const redelivered: ReturnType<typeof listedDelivery>[] = [];
  const failed: { id: string; error: string }[] = [];
  for (const [i, id] of ids.entries()) {
    try {
      const { delivery } = await deliveries.redeliverDelivery({ workspaceId: await workspaceWithId(id), id });
      if (delivery) redelivered.push(listedDelivery(delivery));
    } catch (error) {
      const isOfThisOne = error instanceof RmsError && (error.code === 'not_found' || error.code === 'conflict');
      if (!isOfThisOne && ids.length === 1) throw error;
      failed.push({ id, error: isOfThisOne ? error.message : describeFailure(error) });
      if (isOfThisOne) continue;
      failed.push(
        ...ids.slice(i + 1).map((unattempted) => ({ id: unattempted, error: `${unattempted} was not attempted.` })),
      );
      break;
    }
  }
  return { redelivered, failed };
}
