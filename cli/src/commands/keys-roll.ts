import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import { durationMs, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { keyDocument } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function keysRollCommand(): Command {
  return new Command('roll')
    .description('make a key that takes the place of another; its value is shown this once')
    .argument('<id>', 'the key to roll')
    .option('--overlap <duration>', 'how long the old key works on, e.g. 24h; without it, it stops at once', durationMs)
    .addOption(workspaceOption())
    .action((id: string, options: { overlap?: number; workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const { key, keyValue } = await services.keys.rollKey({
          workspaceId: await workspaceOf(services, options),
          id,
          overlap: durationFromMs(options.overlap ?? 0),
        });
        if (key)
          print(options, keyDocument(key, keyValue), () => `${keyValue}\n\n${key.id}; the value is shown this once`);
      }),
    );
}
