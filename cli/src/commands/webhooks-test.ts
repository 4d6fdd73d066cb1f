import { eventTypes } from '@rms/webhook-events';
import { Command, Option } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { describeAttempt, fullAttemptDocument, responseText } from '../attempts.ts';
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
        const { attempt, url, requestBody, deliveryId } = await services.webhooks.testWebhook({
          workspaceId,
          id,
          eventType: options.eventType ?? '',
        });
        if (!attempt) return;
        const document = { delivery_id: deliveryId, ...fullAttemptDocument(attempt), url, request_body: requestBody };
        print(
          options,
          document,
          () => `Delivery ${deliveryId}\nPOST ${url}\n${requestBody}\n\n${describeAttempt(document)}`,
        );
        if (document.error !== null || document.status_code !== 200) {
          throw new Error(`The endpoint did not accept the event: ${responseText(document)}.`);
        }
      }),
    );
}
