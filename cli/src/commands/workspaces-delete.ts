import { Command } from 'commander';
import { confirmByName } from '../confirm.ts';
import { withServices } from '../connect.ts';
import { contentsOf, contentsText, deleteWorkspace, sum } from '../delete-workspace.ts';
import { installationOf } from '../local.ts';
import { print } from '../print.ts';
import { workspaceNamed } from '../workspace.ts';

interface Options {
  purge?: boolean;
  confirm?: string;
  json?: boolean;
}

const help = `
Without --purge, the command refuses a workspace that has valid keys, members, invitations, resources or webhooks.
The history of the workspace (events, delivery log, requests, usage, incidents) is always deleted. The audit log stays:
rms audit --workspace ID

An interrupted deletion continues when the command is run again. Users keep their accounts.`;

export function workspacesDeleteCommand(): Command {
  return new Command('delete')
    .description('delete a workspace; its keys stop working immediately')
    .argument('<name-or-id>', 'name or ID of the workspace')
    .option('--purge', 'delete everything in the workspace')
    .option('--confirm <name>', 'name of the workspace; with --purge, required without a terminal')
    .addHelpText('after', help)
    .action((nameOrId: string, options: Options, command: Command) =>
      withServices(
        ['workspaces', 'authDeletion', 'resourcesDeletion', 'webhooksDeletion', 'alertsDeletion'],
        async (services) => {
          const { purge = false, confirm, json = false } = options;
          const { id, name, deletionStartTime } = await workspaceNamed(services, nameOrId);
          const contents = await contentsOf(services, id);
          const title = `workspace ${name} (${id})`;
          if (!purge && contents.length > 0) {
            const remedy = deletionStartTime
              ? 'Its deletion was interrupted; continue it with --purge.'
              : 'Remove them first, or delete everything with --purge.';
            throw new Error(`The ${title} contains ${contentsText(contents)}. ${remedy}`);
          }
          if (purge || confirm !== undefined) {
            const including = contents.length > 0 ? ` with ${contentsText(contents)}` : '';
            const { readSettings } = await import('@rms/runtime/settings');
            const where = `the installation ${installationOf(readSettings(process.env))}`;
            const consequence = `This deletes the ${title}${including}, and its history, from ${where}. It cannot be undone.`;
            await confirmByName({ consequence, name, given: confirm }, command);
          }
          const rows = await deleteWorkspace(services, id, { onlyIfEmpty: !purge, showProgress: !json });
          const deleted = Object.fromEntries(Object.entries(rows).map(([table, count]) => [table, Number(count)]));
          print(options, { id, name, rows: deleted }, () => `Deleted ${title}: ${sum(rows)} rows.`);
        },
      ),
    );
}
