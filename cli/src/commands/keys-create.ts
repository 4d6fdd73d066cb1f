import { type KeyPermission, type KeyScope, keyPermissions, keyScopes } from '@rms/base/roles';
import { type Environment, toEnvironmentMessage } from '@rms/base/tenant';
import { timestampFromMs, toKeyGrantMessage } from '@rms/rpc';
import { Command, Option } from 'commander';
import { collect, durationMs, environmentOption, keyLimitNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { printNewKey } from '../keys.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  environment: Environment;
  scope: KeyScope;
  permission?: KeyPermission[];
  name: string;
  expiresIn?: number;
  allowIp?: string[];
  rateLimit?: bigint;
  workspace?: string;
  json?: boolean;
}

export function keysCreateCommand(): Command {
  return new Command('create')
    .description('create an API key; its value is shown only once')
    .addOption(environmentOption('environment of the key').makeOptionMandatory())
    .addOption(new Option('--scope <scope>', 'scope of the key').choices(keyScopes).makeOptionMandatory())
    .addOption(new Option('--permission <name...>', 'permissions of a restricted key').choices(keyPermissions))
    .requiredOption('--name <name>', 'name of the key')
    .option('--expires-in <duration>', 'lifetime, e.g. 30d (default: the key does not expire)', durationMs)
    .option('--allow-ip <cidr>', 'allowed client address or network; repeatable; any address if omitted', collect)
    .option(
      '--rate-limit <n>',
      'requests per window, at most the limit of the plan (default: the limit of the plan)',
      keyLimitNumber,
    )
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(['workspaces', 'keys'], async (services) => {
        const created = await services.keys.createKey({
          workspaceId: await workspaceOf(services, options),
          environment: toEnvironmentMessage(options.environment),
          ...toKeyGrantMessage({ scope: options.scope, permissions: options.permission ?? [] }),
          name: options.name,
          allowedIps: options.allowIp ?? [],
          ...(options.rateLimit === undefined ? {} : { rateLimitRequests: options.rateLimit }),
          ...(options.expiresIn === undefined ? {} : { expireTime: timestampFromMs(Date.now() + options.expiresIn) }),
        });
        printNewKey(options, created);
      }),
    );
}
