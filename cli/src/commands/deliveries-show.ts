import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { describeAttempt, fullAttemptDocument, missingBefore } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { delayText, deliveryHeadDocument } from '../deliveries.ts';
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
        const { delivery, requestBody, traceId } = await services.deliveries.getDelivery({ workspaceId, id });
        if (!delivery) return;
        const head = { ...deliveryHeadDocument(delivery), trace_id: traceId || null };
        const body = Buffer.from(requestBody).toString('utf8') || null;
        const attempts = delivery.attempts.map(fullAttemptDocument);
        print(options, { ...head, request_body: body, attempts }, () => {
          const shown = { ...head, delay_reason: delayText(head.delay_reason) };
          const known = Object.entries(shown).flatMap(([name, value]): [string, string][] =>
            value ? [[name.replaceAll('_', ' '), `${value}`]] : [],
          );
          const each = attempts.flatMap((one, i) => [
            ...missingBefore(one.number, attempts[i - 1]?.number ?? 0),
            `attempt ${one.number} at ${one.at}: ${describeAttempt(one)}`,
          ]);
          return [fields(known), body ?? '(the body was erased)', ...each].join('\n\n');
        });
      }),
    );
}
