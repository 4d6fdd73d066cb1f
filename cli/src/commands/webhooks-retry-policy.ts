import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Command, Option } from 'commander';
import { durationsMs, secondsMs, wholeNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { retriesText, webhookDocument } from '../webhooks.ts';
import { workspaceOf } from '../workspace.ts';

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
    .description('set when failed deliveries are tried again: by three numbers, or by --delays')
    .argument('<id>', 'the webhook')
    .option('--max-retries <n>', 'retries after the first attempt', wholeNumber)
    .option('--initial-delay <seconds>', 'before the first retry; fractions allowed', secondsMs)
    .option('--max-delay <seconds>', 'no delay is longer; fractions allowed', secondsMs)
    .addOption(
      new Option('--delays <durations>', 'before each retry, as many as there are, e.g. 5s,1m,30m')
        .argParser(durationsMs)
        .conflicts(['maxRetries', 'initialDelay', 'maxDelay']),
    )
    .addOption(workspaceOption())
    .action((id: string, options: Options, command: Command) => {
      const retryPolicy = policyOf(options, command);
      return withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { webhook } = await services.webhooks.updateWebhook({ workspaceId, id, retryPolicy });
        if (!webhook) return;
        const document = webhookDocument(webhook);
        print(options, document, () => `${id}: the retry policy is set; retries: ${retriesText(document)}`);
      });
    });
}

function policyOf({ maxRetries, initialDelay, maxDelay, delays }: Options, command: Command) {
  if (delays) return { maxRetries: delays.length, delays: delays.map(durationFromMs) };
  if (maxRetries === undefined || initialDelay === undefined || maxDelay === undefined) {
    return command.error('error: say --max-retries, --initial-delay and --max-delay, or --delays');
  }
  return { maxRetries, initialDelay: durationFromMs(initialDelay), maxDelay: durationFromMs(maxDelay) };
}
