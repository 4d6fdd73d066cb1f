import { setTimeout as delay } from 'node:timers/promises';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Replay, ReplayStatus } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { Command, Option } from 'commander';
import { pointInTime, positiveNumber, workspaceOption } from '../arguments.ts';
import { type Services, withServices } from '../connect.ts';
import { type DeliveryStatusName, deliveryStatuses, endedStatusNames } from '../deliveries.ts';
import { note, print } from '../print.ts';
import { estimateDocument, replayDocument, replayText } from '../replays.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  webhook: string;
  since: Date;
  until?: Date;
  status?: DeliveryStatusName[];
  eventType?: string;
  rate?: number;
  dryRun?: boolean;
  wait?: boolean;
  workspace?: string;
  json?: boolean;
}

const lookEveryMs = 500;

export function deliveriesReplayCommand(): Command {
  return new Command('replay')
    .description('send deliveries of a webhook that have ended again, oldest first, at a rate')
    .requiredOption('--webhook <id>', 'the webhook')
    .requiredOption('--since <time>', 'of events from then on: an ISO 8601 time, or how long ago ("24h")', pointInTime)
    .option('--until <time>', 'of events before then; without it: until now', pointInTime)
    .addOption(new Option('--status <status...>', 'in these; without it: failed and skipped').choices(endedStatusNames))
    .option('--event-type <type>', 'of events of one type')
    .option('--rate <n>', 'how many a second, up to 10,000; without it: 100', positiveNumber)
    .addOption(new Option('--dry-run', 'only say how many, and how long it takes').conflicts('wait'))
    .option('--wait', 'say how far it is until all have been sent again (their retries may take longer)')
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { since, until, dryRun = false } = options;
        const answer = await services.deliveries.replayDeliveries({
          workspaceId,
          webhookId: options.webhook,
          since: timestampFromDate(since),
          ...(until ? { until: timestampFromDate(until) } : {}),
          statuses: (options.status ?? []).map(deliveryStatuses.toValue),
          eventType: options.eventType ?? '',
          perSecond: options.rate ?? 0,
          dryRun,
        });
        const estimate = estimateDocument(answer);
        const begun = answer.replay;
        const replay = begun && options.wait ? await waitFor(services, workspaceId, begun, options) : begun;
        const shown = replay ? replayDocument(replay) : null;
        print(options, { ...estimate, dry_run: dryRun, replay: shown }, () =>
          shown ? replayText(shown) : `${estimate.count} would be sent again, in ${estimate.duration_seconds} s`,
        );
      }),
    );
}

/** Says how far a replay is, until it has ended. */
async function waitFor({ deliveries }: Services, workspaceId: string, begun: Replay, { json }: Options) {
  const { id } = begun;
  let replay = begun;
  try {
    while (replay.status === ReplayStatus.RUNNING) {
      if (!json) note(replayText(replayDocument(replay)));
      await delay(lookEveryMs);
      replay = (await deliveries.getReplay({ workspaceId, id })).replay ?? replay;
    }
  } catch (error) {
    note(`it goes on; rms deliveries replay-status ${id} says how far it is`);
    throw error;
  }
  return replay;
}
