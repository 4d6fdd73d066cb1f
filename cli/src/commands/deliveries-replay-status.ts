import type { Replay } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { replayText, shownReplay } from '../replays.ts';
import type { Services } from '../services.ts';
import { workspaceWith } from '../workspace.ts';

type Call = (
  services: Pick<Services, 'deliveries'>,
  request: { workspaceId: string; id: string },
) => Promise<{ replay?: Replay | undefined }>;

export function deliveriesReplayStatusCommand(): Command {
  return replayCommand('replay-status', 'show the progress of a replay', ({ deliveries }, request) =>
    deliveries.getReplay(request),
  );
}

export function deliveriesReplayCancelCommand(): Command {
  return replayCommand(
    'replay-cancel',
    'cancel a replay; deliveries that it has already started continue',
    ({ deliveries }, request) => deliveries.cancelReplay(request),
  );
}

function replayCommand(name: string, about: string, call: Call): Command {
  return new Command(name)
    .description(about)
    .argument('<id>', 'replay ID')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'deliveries', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const { replay } = await call(services, { workspaceId, id });
        if (!replay) return;
        const document = shownReplay(replay);
        print(options, document, () => replayText(document));
      }),
    );
}
