import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { time } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function webhooksTestCommand(): Command {
  return new Command('test')
    .description('send a sample event now, and show the answer')
    .argument('<id>', 'the webhook')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { attempt, responseBody } = await services.webhooks.testWebhook({ workspaceId, id });
        if (!attempt) return;
        const { startTime, statusCode, error, durationMs } = attempt;
        const document = {
          at: time(startTime),
          status_code: statusCode || null,
          error: error || null,
          duration_ms: durationMs,
          response_body: responseBody,
        };
        print(
          options,
          document,
          () => `${error === '' ? `${statusCode} OK` : error} in ${durationMs} ms\n${responseBody}`,
        );
      }),
    );
}
