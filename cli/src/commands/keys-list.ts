import type { FullKey } from '@rms/api';
import { fullKeyDocument } from '@rms/api/key/document';
import { scopeText } from '@rms/api/rules';
import { Command } from 'commander';
import { allWorkspacesOption, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { allKeys, allowlistText, clientsTable, creatorText, isInOverlap, rateLimitText, statusText } from '../keys.ts';
import { print, table } from '../print.ts';
import { type Listed, listIn, type WorkspaceOptions, withWorkspaces } from '../workspace.ts';

export function keysListCommand(): Command {
  return new Command('list')
    .description('list API keys of both environments and their last use, newest first')
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption())
    .action((options: WorkspaceOptions & { json?: boolean }) =>
      withServices(['workspaces', 'keys'], async (services) => {
        const data = await listIn(services, options, async (workspaceId) =>
          (await allKeys(services, workspaceId)).map(fullKeyDocument),
        );
        print(options, { data }, () => [tableOf(options, data), ...overlaps(data)].join('\n\n'));
      }),
    );
}

function tableOf(options: WorkspaceOptions, keys: readonly Listed<FullKey>[]): string {
  const rows = withWorkspaces(
    options,
    [
      ...['ID', 'ENVIRONMENT', 'SCOPE', 'HINT', 'NAME', 'CREATED BY', 'LAST USED', 'FROM', 'LAST REFUSED'],
      ...['ALLOWED FROM', 'RATE LIMIT', 'EXPIRES', 'STATUS'],
    ],
    keys,
    keys.map((key) => [
      ...[key.id, key.environment, scopeText(key), key.hint, key.name, creatorText(key), key.last_used_at ?? ''],
      ...[
        key.last_used_ip ?? '',
        key.last_refusal?.refused_at ?? '',
        allowlistText(key.allowed_ips),
        rateLimitText(key.rate_limit),
      ],
      ...[key.expires_at ?? '', statusText(key)],
    ]),
  );
  return table(...rows);
}

/** Lists the clients that must switch to the new key before the old one expires. */
function overlaps(keys: readonly FullKey[]): string[] {
  return keys.filter(isInOverlap).map((key) => {
    const title = `${key.id} works until ${key.overlap_ends_at}; it is replaced by ${key.rolled_to}.`;
    return key.clients.length === 0
      ? `${title} It has no recorded use.`
      : `${title} Its clients:\n${clientsTable(key, key.rolled_at)}`;
  });
}
