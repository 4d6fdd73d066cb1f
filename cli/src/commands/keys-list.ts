import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import {
  allowlistText,
  isInOverlap,
  rateLimitText,
  stateOf,
  type UsedKeyDocument,
  usedKeyDocument,
  usesTable,
} from '../keys.ts';
import { print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function keysListCommand(): Command {
  return new Command('list')
    .description('list API keys of both environments and who used them last, newest first')
    .addOption(workspaceOption())
    .action((options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const { keys } = await services.keys.listKeys({ workspaceId: await workspaceOf(services, options) });
        const data = keys.map(usedKeyDocument);
        print(options, { data }, () => [tableOf(data), ...overlaps(data)].join('\n\n'));
      }),
    );
}

function tableOf(keys: readonly UsedKeyDocument[]): string {
  return table(
    [
      ...['ID', 'ENVIRONMENT', 'SCOPE', 'HINT', 'NAME', 'CREATED BY', 'LAST USED', 'FROM'],
      ...['ALLOWED FROM', 'RATE LIMIT', 'EXPIRES', 'STATE'],
    ],
    keys.map((key) => [
      ...[key.id, key.environment, key.scope, key.hint ?? '', key.name, key.created_by ?? '', key.last_used_at ?? ''],
      ...[key.last_used_from ?? '', allowlistText(key.allowed_ips), rateLimitText(key.rate_limit_requests)],
      ...[key.expires_at ?? '', stateOf(key)],
    ]),
  );
}

/** Who has to change to the new key before the old one stops. */
function overlaps(keys: readonly UsedKeyDocument[]): string[] {
  return keys.filter(isInOverlap).map((key) => {
    const title = `${key.id} works until ${key.rolled_at}; ${key.replaced_by} takes its place.`;
    const successor = keys.find(({ id }) => id === key.replaced_by);
    return key.uses.length === 0
      ? `${title} Nobody is known to have used it.`
      : `${title} It is used by:\n${usesTable(key, successor?.created_at)}`;
  });
}
