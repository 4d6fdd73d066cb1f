import { durationFromMs } from '@rms/rpc';
import { Command, Option } from 'commander';
import { durationMs, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { printNewKey } from '../keys.ts';
import { defaultOverlapMs } from '../overlap.ts';
import { workspaceWith } from '../workspace.ts';

export function keysRollCommand(): Command {
  return new Command('roll')
    .description('replace a key with a new one; its value is shown only once')
    .argument('<id>', 'key ID')
    .addOption(
      new Option('--overlap <duration>', 'how long the old key stays valid; 0s: it expires immediately')
        .argParser(durationMs)
        .default(defaultOverlapMs, '24h'),
    )
    .addOption(workspaceOption())
    .action((id: string, options: { overlap: number; workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'keys', 'lookup'], async (services) => {
        const created = await services.keys.rollKey({
          workspaceId: await workspaceWith(services, options, [services.lookup], id),
          id,
          overlap: durationFromMs(options.overlap),
        });
        printNewKey(options, created);
      }),
    );
}
