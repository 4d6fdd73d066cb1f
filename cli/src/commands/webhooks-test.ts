import { testAttemptDocument } from '@rms/api/attempt/document';
import { eventTypes } from '@rms/base/webhook-events';
import { Command, Option } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { describeAttempt, requireAccepted } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { workspaceWith } from '../workspace.ts';

export function webhooksTestCommand(): Command {
  return new Command('test')
    .description('send a sample event now and show the response; fails unless the endpoint responds with 200')
    .argument('<id>', 'webhook ID')
    .addOption(
      new Option(
        '--event-type <type>',
        'type of the sample event, which the webhook must receive (default: the first such type)',
      ).choices(eventTypes),
    )
    .addOption(workspaceOption())
    .action((id: string, options: { eventType?: string; workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const response = await services.webhooks.testWebhook({
          workspaceId,
          id,
          eventType: options.eventType ?? '',
        });
        if (!response.attempt) return;
        const document = testAttemptDocument(response.attempt, response);
        const { url, body } = document.request;
        print(
          options,
          document,
          () => `Delivery ${document.delivery_id}\nPOST ${url}\n${body}\n\n${describeAttempt(document)}`,
        );
        requireAccepted(document);
      }),
    );
}
