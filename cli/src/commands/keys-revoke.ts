import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { keyDocument } from '../documents.ts';
import { print } from '../print.ts';
import { failUnlessAll, revokeKeys } from '../revoke.ts';
import { workspaceOf } from '../workspace.ts';

export function keysRevokeCommand(): Command {
  return new Command('revoke')
    .description('revoke keys; all requests with them fail immediately')
    .argument('<id...>', 'key IDs')
    .addOption(workspaceOption())
    .action((ids: string[], options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'keys'], async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const outcome = await revokeKeys(
          services,
          [...new Set(ids)].map((id) => ({ workspaceId, id })),
        );
        const revoked = outcome.revoked.map((key) => keyDocument(key));
        const text = () => revoked.map(({ id }) => `Revoked ${id}.`).join('\n');
        // For a single ID, the JSON output is a document; for several IDs, a list.
        if (ids.length > 1) print(options, { data: revoked, failed: outcome.failed }, text);
        else for (const key of revoked) print(options, key, text);
        failUnlessAll(outcome);
      }),
    );
}
