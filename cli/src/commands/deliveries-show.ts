import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { describeAttempt, fullAttemptDocument } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { deliveryHeadDocument } from '../deliveries.ts';
import { fields, print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function deliveriesShowCommand(): Command {
  return new Command('show')
    .description('show one delivery with all of each attempt: where the time went, what was sent, what came back')
    .argument('<id>', 'the delivery')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { delivery, requestBody, traceId } = await services.deliveries.getDelivery({ workspaceId, id });
        if (!delivery) return;
        const head = { ...deliveryHeadDocument(delivery), trace_id: traceId || null };
        const body = Buffer.from(requestBody).toString('utf8') || null;
        const attempts = delivery.attempts.map(fullAttemptDocument);
        print(options, { ...head, request_body: body, attempts }, () => {
          const known = Object.entries(head).flatMap(([name, value]): [string, string][] =>
            value ? [[name.replaceAll('_', ' '), value]] : [],
          );
          const each = attempts.map((one) => `attempt ${one.number} at ${one.at}: ${describeAttempt(one)}`);
          return [fields(known), body ?? '(the body is erased)', ...each].join('\n\n');
        });
      }),
    );
}
