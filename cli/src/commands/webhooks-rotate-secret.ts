import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import { durationMs, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { time } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function webhooksRotateSecretCommand(): Command {
  return new Command('rotate-secret')
    .description('sign with a new secret from now on; it is shown this once')
    .argument('<id>', 'the webhook')
    .option('--overlap <duration>', 'how long the old secret signs as well (webhook-signature), e.g. 24h', durationMs)
    .addOption(workspaceOption())
    .action((id: string, options: { overlap?: number; workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const overlap = durationFromMs(options.overlap ?? 0);
        const { webhook, secret } = await services.webhooks.rotateSecret({ workspaceId, id, overlap });
        const expiresAt = time(webhook?.previousSecretExpireTime);
        print(options, { id, secret, previous_secret_expires_at: expiresAt }, () => {
          const about = expiresAt
            ? `shown this once; until ${expiresAt} the one before signs as well`
            : 'shown this once';
          return `${secret}\n\n${about}`;
        });
      }),
    );
}
