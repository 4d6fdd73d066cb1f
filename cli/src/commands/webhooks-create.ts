import { webhookDocument } from '@rms/api/webhook/document';
import { type Environment, toEnvironmentMessage } from '@rms/base/tenant';
import { Command } from 'commander';
import { environmentOption, eventTypes, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { type WorkspaceOptions, workspaceOf } from '../workspace.ts';

interface Options extends WorkspaceOptions {
  environment: Environment;
  url: string;
  events: string[];
  description?: string;
  ordered?: boolean;
  json?: boolean;
}

export function webhooksCreateCommand(): Command {
  return new Command('create')
    .description('create a webhook; its signing secret is shown only once')
    .addOption(environmentOption('environment of the webhook').makeOptionMandatory())
    .requiredOption('--url <url>', 'URL of the endpoint')
    .option('--events <types>', 'comma-separated event types, or "*" for all about resources', eventTypes, ['*'])
    .option('--description <text>', 'up to 500 characters')
    .option('--ordered', 'deliver the events of a resource one at a time, in order')
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(['workspaces', 'webhooks'], async (services) => {
        const { url, events, description = '', ordered = false } = options;
        const { webhook, secret } = await services.webhooks.createWebhook({
          workspaceId: await workspaceOf(services, options),
          environment: toEnvironmentMessage(options.environment),
          url,
          events,
          description,
          ordered,
        });
        const document = { environment: options.environment, ...webhookDocument(webhook), secret };
        print(options, document, () => `${document.id}\n\n${secret}\n\nThe secret is shown only once.`);
      }),
    );
}
