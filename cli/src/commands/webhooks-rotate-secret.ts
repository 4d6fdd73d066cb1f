import { rotatedSecretDocument } from '@rms/api/webhook/document';
import { durationFromMs } from '@rms/rpc';
import { Command, Option } from 'commander';
import { durationMs, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { defaultOverlapMs } from '../overlap.ts';
import { print } from '../print.ts';
import { workspaceWith } from '../workspace.ts';

export function webhooksRotateSecretCommand(): Command {
  return new Command('rotate-secret')
    .description('replace the signing secret; the new one is shown only once')
    .argument('<id>', 'webhook ID')
    .addOption(
      new Option(
        '--overlap <duration>',
        'how long deliveries are also signed with the old secret (webhook-signature); 0s: not at all',
      )
        .argParser(durationMs)
        .default(defaultOverlapMs, '24h'),
    )
    .addOption(workspaceOption())
    .action((id: string, options: { overlap: number; workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const overlap = durationFromMs(options.overlap);
        const { webhook, secret } = await services.webhooks.rotateSecret({ workspaceId, id, overlap });
        const document = rotatedSecretDocument(webhook, secret);
        print(options, document, () => {
          const expiresAt = document.previous_secret_expires_at;
          const about = expiresAt
            ? `The secret is shown only once. The previous secret also signs until ${expiresAt}.`
            : 'The secret is shown only once.';
          return `${secret}\n\n${about}`;
        });
      }),
    );
}
