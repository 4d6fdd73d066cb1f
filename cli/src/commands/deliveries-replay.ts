import { setTimeout as delay } from 'node:timers/promises';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Delivery } from '@rms/api';
import { deliveryStatuses } from '@rms/api/delivery/status';
import { estimateDocument } from '@rms/api/replay/document';
import { type Replay, ReplayStatus } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { Command, Option } from 'commander';
import { pointInTime, positiveNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { note, print } from '../print.ts';
import { estimateText, replayText, shownReplay } from '../replays.ts';
import type { Services } from '../services.ts';
import { workspaceWith } from '../workspace.ts';

interface Options {
  webhook: string;
  since: Date;
  until?: Date;
  status?: Delivery['status'][];
  eventType?: string;
  rate?: number;
  dryRun?: boolean;
  wait?: boolean;
  workspace?: string;
  json?: boolean;
}

const pollEveryMs = 500;

export function deliveriesReplayCommand(): Command {
  return new Command('replay')
    .description('redeliver deliveries of a webhook, oldest first, at a given rate')
    .requiredOption('--webhook <id>', 'webhook ID')
    .requiredOption('--since <time>', 'events since an ISO 8601 time or a duration ago ("24h")', pointInTime)
    .option('--until <time>', 'events before this time (default: now)', pointInTime)
    .addOption(
      new Option('--status <status...>', 'only these statuses (default: failed, retrying and skipped)').choices(
        deliveryStatuses.names.filter((name) => name !== 'canceled'),
      ),
    )
    .option('--event-type <type>', 'only events of this type')
    .option('--rate <n>', 'deliveries per second, up to 10,000 (default: 100)', positiveNumber)
    .addOption(
      new Option('--dry-run', 'only show the number of deliveries and the estimated duration').conflicts('wait'),
    )
    .option('--wait', 'show the progress until all first attempts have been sent; retries may take longer')
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(['workspaces', 'deliveries', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], options.webhook);
        const { since, until, dryRun = false } = options;
        const response = await services.deliveries.replayDeliveries({
          workspaceId,
          webhookId: options.webhook,
          since: timestampFromDate(since),
          ...(until ? { until: timestampFromDate(until) } : {}),
          statuses: (options.status ?? []).map(deliveryStatuses.toValue),
          eventType: options.eventType ?? '',
          perSecond: options.rate ?? 0,
          dryRun,
        });
        const { replay: started } = response;
        if (!started) {
          const estimate = estimateDocument(response);
          print(options, estimate, () => estimateText(estimate));
          return;
        }
        const replay = shownReplay(options.wait ? await waitFor(services, workspaceId, started, options) : started);
        print(options, replay, () => replayText(replay));
      }),
    );
}

/** Prints a replay's progress until it ends. */
async function waitFor(
  { deliveries }: Pick<Services, 'deliveries'>,
  workspaceId: string,
  started: Replay,
  { json }: Options,
) {
  const { id } = started;
  let replay = started;
  try {
    while (replay.status === ReplayStatus.RUNNING) {
      if (!json) note(replayText(shownReplay(replay)));
      await delay(pollEveryMs);
      replay = (await deliveries.getReplay({ workspaceId, id })).replay ?? replay;
    }
  } catch (error) {
    note(`The replay continues. Show its progress with: rms deliveries replay-status ${id}`);
    throw error;
  }
  return replay;
}
