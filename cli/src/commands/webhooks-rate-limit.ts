import { Command } from 'commander';
import { perSecondLimit, positiveNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { rateLimitText, updateAndPrint } from '../webhooks.ts';
import { workspaceWith } from '../workspace.ts';

interface Options {
  maxConcurrency?: number;
  requestsPerSecond?: number;
  workspace?: string;
  json?: boolean;
}

export function webhooksRateLimitCommand(): Command {
  return new Command('rate-limit')
    .description('set the rate limit of a webhook; an omitted option keeps its value')
    .argument('<id>', 'webhook ID')
    .option('--max-concurrency <n>', 'maximum number of concurrent attempts, 1 to 1000', positiveNumber)
    .option(
      '--requests-per-second <n|none>',
      'maximum number of attempts per second, 0.01 to 10000; fractions allowed; none: no limit',
      perSecondLimit,
    )
    .addOption(workspaceOption())
    .action((id: string, options: Options, command: Command) => {
      const { maxConcurrency, requestsPerSecond } = options;
      if (maxConcurrency === undefined && requestsPerSecond === undefined) {
        command.error('error: give --max-concurrency, --requests-per-second, or both');
      }
      const rateLimit = {
        ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
        ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
      };
      return withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const change = { workspaceId, id, rateLimit };
        await updateAndPrint(services, change, options, (webhook) => `Rate limit of ${id}: ${rateLimitText(webhook)}`);
      });
    });
}
