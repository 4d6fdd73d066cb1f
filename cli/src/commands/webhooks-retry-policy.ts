import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import { secondsMs, wholeNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { webhookDocument } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  maxRetries: number;
  initialDelay: number;
  maxDelay: number;
  workspace?: string;
  json?: boolean;
}

export function webhooksRetryPolicyCommand(): Command {
  return new Command('retry-policy')
    .description('set when failed deliveries are tried again')
    .argument('<id>', 'the webhook')
    .requiredOption('--max-retries <n>', 'retries after the first attempt', wholeNumber)
    .requiredOption('--initial-delay <seconds>', 'before the first retry; fractions allowed', secondsMs)
    .requiredOption('--max-delay <seconds>', 'no delay is longer; fractions allowed', secondsMs)
    .addOption(workspaceOption())
    .action((id: string, options: Options) =>
      withServices(async (services) => {
        const { webhook } = await services.webhooks.updateWebhook({
          workspaceId: await workspaceOf(services, options),
          id,
          retryPolicy: {
            maxRetries: options.maxRetries,
            initialDelay: durationFromMs(options.initialDelay),
            maxDelay: durationFromMs(options.maxDelay),
          },
        });
        if (webhook) print(options, webhookDocument(webhook), () => `${id}: the retry policy is set`);
      }),
    );
}
