import { keyDocument } from '@rms/api/key/document';
import { RmsError } from '@rms/base/errors';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { failUnlessAll, revokeKeys } from '../revoke.ts';
import { workspaceFinder } from '../workspace.ts';

export function keysRevokeCommand(): Command {
  return new Command('revoke')
    .description('revoke keys; all requests with them fail immediately')
    .argument('<id...>', 'key IDs')
    .addOption(workspaceOption())
    .action((ids: string[], options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'keys', 'lookup'], async (services) => {
        const workspaceWithId = await workspaceFinder(services, options, [services.lookup]);
        const { refs, unknown } = await locate(workspaceWithId, [...new Set(ids)]);
        const { revoked: keys, failed } = await revokeKeys(services, refs);
        const outcome = { revoked: keys, failed: [...unknown, ...failed] };
        const revoked = outcome.revoked.map(keyDocument);
        const text = () => revoked.map(({ id }) => `Revoked ${id}.`).join('\n');
        // For a single ID, the JSON output is a document; for several IDs, a list.
        if (ids.length > 1) print(options, { data: revoked, failed: outcome.failed }, text);
        else for (const key of revoked) print(options, key, text);
        failUnlessAll(outcome);
      }),
    );
}

/** Finds the workspaces of keys. A key that no workspace has does not prevent the others. */
async function locate(workspaceWithId: (id: string) => Promise<string>, ids: readonly string[]) {
  const refs: { workspaceId: string; id: string }[] = [];
  const unknown: { id: string; error: string }[] = [];
  for (const id of ids) {
    try {
      refs.push({ workspaceId: await workspaceWithId(id), id });
    } catch (error) {
      if (!(error instanceof RmsError) || error.code !== 'not_found') throw error;
      unknown.push({ id, error: error.message });
    }
  }
  return { refs, unknown };
}
