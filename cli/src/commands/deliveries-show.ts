import { fullDeliveryDocument } from '@rms/api/delivery/document';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { describeAttempt, missingBefore } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { delayText } from '../deliveries.ts';
import { fields, print } from '../print.ts';
import { workspaceWith } from '../workspace.ts';

export function deliveriesShowCommand(): Command {
  return new Command('show')
    .description('show a delivery with its stored attempts: timings, request and response')
    .argument('<id>', 'delivery ID')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'deliveries', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const found = await services.deliveries.getDelivery({ workspaceId, id });
        if (!found.delivery) return;
        const environment = fromEnvironmentMessage(found.delivery.environment);
        const document = { environment, ...fullDeliveryDocument(found) };
        print(options, document, () => {
          const { attempts, request_body: body, last_attempt: _, type: __, ...head } = document;
          const shown = { ...head, delay_reason: delayText(head.delay_reason) };
          const known = Object.entries(shown).flatMap(([name, value]): [string, string][] =>
            value ? [[name.replaceAll('_', ' '), `${value}`]] : [],
          );
          const each = attempts.flatMap((one, i) => [
            ...missingBefore(one.number, attempts[i - 1]?.number ?? 0),
            `attempt ${one.number} at ${one.started_at}: ${describeAttempt(one)}`,
          ]);
          return [fields(known), body ?? '(the body was erased)', ...each].join('\n\n');
        });
      }),
    );
}
