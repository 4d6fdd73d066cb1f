import type { Replay } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { type Services, withServices } from '../connect.ts';
import { print } from '../print.ts';
import { replayDocument, replayText } from '../replays.ts';
import { workspaceOf } from '../workspace.ts';

type Call = (
  services: Services,
  request: { workspaceId: string; id: string },
) => Promise<{ replay?: Replay | undefined }>;

export function deliveriesReplayStatusCommand(): Command {
  return replayCommand('replay-status', 'say how far a replay is', ({ deliveries }, request) =>
    deliveries.getReplay(request),
  );
}

export function deliveriesReplayCancelCommand(): Command {
  return replayCommand('replay-cancel', 'end a replay; what it has sent stays sent', ({ deliveries }, request) =>
    deliveries.cancelReplay(request),
  );
}

function replayCommand(name: string, about: string, call: Call): Command {
  return new Command(name)
    .description(about)
    .argument('<id>', 'the replay')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const { replay } = await call(services, { workspaceId: await workspaceOf(services, options), id });
        if (!replay) return;
        const document = replayDocument(replay);
        print(options, document, () => replayText(document));
      }),
    );
}
