import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import { pointInTime, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  webhook: string;
  since: Date;
  dryRun?: boolean;
  workspace?: string;
  json?: boolean;
}

export function deliveriesReplayCommand(): Command {
  return new Command('replay')
    .description('try all failed deliveries of a webhook since a time again')
    .requiredOption('--webhook <id>', 'the webhook')
    .requiredOption('--since <time>', 'an ISO 8601 time, or how long ago ("24h")', pointInTime)
    .option('--dry-run', 'only say how many')
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(async (services) => {
        const { count } = await services.deliveries.replayDeliveries({
          workspaceId: await workspaceOf(services, options),
          webhookId: options.webhook,
          since: timestampFromDate(options.since),
          dryRun: options.dryRun ?? false,
        });
        const document = { count: Number(count), dry_run: options.dryRun ?? false };
        print(options, document, () => `${count} deliveries ${options.dryRun ? 'would be' : 'are'} tried again`);
      }),
    );
}
