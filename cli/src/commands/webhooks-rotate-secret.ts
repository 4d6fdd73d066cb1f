import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function webhooksRotateSecretCommand(): Command {
  return new Command('rotate-secret')
    .description('sign with a new secret from now on; it is shown this once')
    .argument('<id>', 'the webhook')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { secret } = await services.webhooks.rotateSecret({ workspaceId, id });
        print(options, { id, secret }, () => `${secret}\n\nshown this once`);
      }),
    );
}
