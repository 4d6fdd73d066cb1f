import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { describeAttempt, fullAttemptDocument } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function webhooksTestCommand(): Command {
  return new Command('test')
    .description('send a sample event now, and show all of the answer')
    .argument('<id>', 'the webhook')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { attempt } = await services.webhooks.testWebhook({ workspaceId, id });
        if (!attempt) return;
        const document = fullAttemptDocument(attempt);
        print(options, document, () => describeAttempt(document));
      }),
    );
}
