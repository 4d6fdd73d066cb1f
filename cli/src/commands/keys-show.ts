import { fullKeyDocument } from '@rms/api/key/document';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { describeKey } from '../keys.ts';
import { print } from '../print.ts';
import { workspaceWith } from '../workspace.ts';

export function keysShowCommand(): Command {
  return new Command('show')
    .description('show the details and clients of a key')
    .argument('<id>', 'key ID')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'keys', 'lookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.lookup], id);
        const { key } = await services.keys.getKey({ workspaceId, id });
        const document = fullKeyDocument(key);
        print(options, document, () => describeKey(document));
      }),
    );
}
