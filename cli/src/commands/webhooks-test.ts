import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { describeAttempt, fullAttemptDocument, responseText } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { workspaceWith } from '../workspace.ts';

export function webhooksTestCommand(): Command {
  return new Command('test')
    .description('send a sample event now and show the response; fails unless the endpoint responds with 200')
    .argument('<id>', 'webhook ID')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const { attempt } = await services.webhooks.testWebhook({ workspaceId, id });
        if (!attempt) return;
        const document = fullAttemptDocument(attempt);
        print(options, document, () => describeAttempt(document));
        if (document.error !== null || document.status_code !== 200) {
          throw new Error(`The endpoint did not accept the event: ${responseText(document)}.`);
        }
      }),
    );
}
