import { durationFromMs } from '@rms/rpc';
import { Command, Option } from 'commander';
import { durationsMs, secondsMs, wholeNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { retriesText, updateAndPrint } from '../webhooks.ts';
import { workspaceWith } from '../workspace.ts';

interface Options {
  maxRetries?: number;
  initialDelay?: number;
  maxDelay?: number;
  delays?: number[];
  workspace?: string;
  json?: boolean;
}

export function webhooksRetryPolicyCommand(): Command {
  return new Command('retry-policy')
    .description('set the retry policy of a webhook: three numbers, or --delays')
    .argument('<id>', 'webhook ID')
    .option('--max-retries <n>', 'retries after the first attempt', wholeNumber)
    .option('--initial-delay <seconds>', 'delay before the first retry; fractions allowed', secondsMs)
    .option('--max-delay <seconds>', 'maximum delay between retries; fractions allowed', secondsMs)
    .addOption(
      new Option('--delays <durations>', 'delay before each retry, e.g. 5s,1m,30m for three retries')
        .argParser(durationsMs)
        .conflicts(['maxRetries', 'initialDelay', 'maxDelay']),
    )
    .addOption(workspaceOption())
    .action((id: string, options: Options, command: Command) => {
      const retryPolicy = policyOf(options, command);
      return withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const change = { workspaceId, id, retryPolicy };
        await updateAndPrint(services, change, options, (webhook) => `Retry policy of ${id}: ${retriesText(webhook)}`);
      });
    });
}

function policyOf({ maxRetries, initialDelay, maxDelay, delays }: Options, command: Command) {
  if (delays) return { maxRetries: delays.length, delays: delays.map(durationFromMs) };
  if (maxRetries === undefined || initialDelay === undefined || maxDelay === undefined) {
    return command.error('error: give --max-retries, --initial-delay and --max-delay, or --delays');
  }
  return { maxRetries, initialDelay: durationFromMs(initialDelay), maxDelay: durationFromMs(maxDelay) };
}
