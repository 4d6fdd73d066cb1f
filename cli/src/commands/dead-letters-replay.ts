import { Command, Option } from 'commander';
import { deadLetterId } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { note, print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  workspace?: string;
  all?: boolean;
  json?: boolean;
}

const help = `
A replay parks the records. The service then stores them in the order of their arrival and delivers their events. A
record that cannot be stored again is kept with its new reason: rms dead-letters list
Parked records are stored without this command.`;

export function deadLettersReplayCommand(): Command {
  return new Command('replay')
    .description('store dead letters again: by ID, of a workspace, or all')
    .argument('[id...]', 'IDs of dead letters', (text: string, ids: bigint[] = []) => [...ids, deadLetterId(text)])
    .addOption(new Option('--workspace <name-or-id>', 'all dead letters of this workspace').conflicts('all'))
    .addOption(new Option('--all', 'all dead letters'))
    .addHelpText('after', help)
    .action((ids: bigint[] | undefined, options: Options, command: Command) => {
      const { workspace, all } = options;
      const given = [ids?.length, workspace, all].filter((one) => one !== undefined && one !== 0);
      if (given.length !== 1) command.error('error: specify dead letter IDs, --workspace or --all');
      return withServices(['workspaces', 'deadLetters'], async (services) => {
        const selection = all
          ? ({ case: 'all', value: true } as const)
          : workspace === undefined
            ? ({ case: 'ids', value: { ids: ids ?? [] } } as const)
            : ({ case: 'workspaceId', value: await workspaceOf(services, options) } as const);
        let parked = 0;
        let pageToken = '';
        do {
          const step = await services.deadLetters.replayDeadLetters({ selection, pageToken });
          parked += step.parked;
          pageToken = step.nextPageToken;
        } while (pageToken !== '');
        print(options, { parked }, () => `${parked} dead letters are parked and will be stored again.`);
        if (selection.case === 'ids' && parked < new Set(ids).size) {
          note('the other IDs do not exist, or are parked already');
        }
      });
    });
}
