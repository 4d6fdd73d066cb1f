import { Command, Option } from 'commander';
import { knownEventTypes, workspaceOption } from '../arguments.ts';
import { describeAttempt, fullAttemptDocument, responseText } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { workspaceWith } from '../workspace.ts';

export function webhooksTestCommand(): Command {
  return new Command('test')
    .description('send a sample event now and show the response; fails unless the endpoint responds with 200')
    .argument('<id>', 'webhook ID')
    .addOption(
      new Option('--event-type <type>', 'type of the sample event')
        .choices(knownEventTypes)
        .default(knownEventTypes[0]),
    )
    .addOption(workspaceOption())
    .action((id: string, options: { eventType: string; workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const { eventType } = options;
        const { attempt, url, requestBody } = await services.webhooks.testWebhook({ workspaceId, id, eventType });
        if (!attempt) return;
        const document = { ...fullAttemptDocument(attempt), url, request_body: requestBody };
        print(options, document, () => `POST ${url}\n${requestBody}\n\n${describeAttempt(document)}`);
        if (document.error !== null || document.status_code !== 200) {
          throw new Error(`The endpoint did not accept the event: ${responseText(document)}.`);
        }
      }),
    );
}
