import type { Delivery } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { answerText } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { deliveryDocument, listDeliveries } from '../deliveries.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Step {
  at: string;
  what: string;
}

/** What a request caused, as the delivery log knows it: its events, their deliveries and attempts, on one time line. */
export function traceCommand(): Command {
  return new Command('trace')
    .description('show what one request (its X-Request-ID) caused')
    .argument('<request-id>', 'the X-Request-ID')
    .addOption(workspaceOption())
    .action((requestId: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        // An empty one would mean any.
        if (requestId === '') throw new Error('say which request: its X-Request-ID');
        const workspaceId = await workspaceOf(services, options);
        const { found } = await listDeliveries(services, { workspaceId, requestId }, Number.POSITIVE_INFINITY);
        if (found.length === 0) throw new Error(`no delivery is known of request "${requestId}"`);
        // Ids of events sort in the order in which the request caused them; those of deliveries of one batch do not.
        const deliveries = found.sort(byEvent).map(deliveryDocument);
        // Steps of one millisecond stay in that order.
        const timeline = deliveries.flatMap(stepsOf).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
        print(options, { request_id: requestId, deliveries, timeline }, () =>
          timeline.map(({ at, what }) => `${at}  ${what}`).join('\n'),
        );
      }),
    );
}

function byEvent(a: Delivery, b: Delivery): number {
  const [left, right] = [a.eventId + a.id, b.eventId + b.id];
  return left < right ? -1 : Number(left > right);
}

function stepsOf(delivery: ReturnType<typeof deliveryDocument>): Step[] {
  const { id, event_id: eventId, event_type: type, webhook_id: webhookId, created_at: createdAt } = delivery;
  const skipped = delivery.status === 'skipped' ? ': skipped, the webhook was disabled' : '';
  const made: Step = { at: createdAt ?? '', what: `${type} ${eventId} → ${webhookId} (${id})${skipped}` };
  const attempts = delivery.attempts.map((attempt, i) => ({
    at: attempt.at ?? '',
    what: `attempt ${i + 1} of ${id}: ${answerText(attempt)} in ${attempt.duration_ms} ms`,
  }));
  return [made, ...attempts];
}
