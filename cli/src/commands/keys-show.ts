import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { describeKey, usedKeyDocument } from '../keys.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function keysShowCommand(): Command {
  return new Command('show')
    .description('show all that is known of a key, and who uses it')
    .argument('<id>', 'the key')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const { keys } = await services.keys.listKeys({ workspaceId: await workspaceOf(services, options) });
        const key = keys.find((one) => one.id === id);
        if (!key) throw new Error(`There is no key "${id}".`);
        const document = usedKeyDocument(key);
        print(options, document, () => describeKey(document));
      }),
    );
}
