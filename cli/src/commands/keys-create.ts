import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Command, Option } from 'commander';
import { collect, durationMs, limitNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { type EnvironmentName, keyDocument, scopes, toEnvironment } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  environment: EnvironmentName;
  scope: (typeof scopes.names)[number];
  name: string;
  expiresIn?: number;
  allowIp: string[];
  rateLimit?: bigint;
  workspace?: string;
  json?: boolean;
}

export function keysCreateCommand(): Command {
  return new Command('create')
    .description('make an API key; its value is shown this once')
    .addOption(new Option('--environment <name>', 'where it works').choices(['live', 'test']).makeOptionMandatory())
    .addOption(new Option('--scope <scope>', 'what it may do').choices(scopes.names).makeOptionMandatory())
    .requiredOption('--name <name>', 'what it is for')
    .option('--expires-in <duration>', 'e.g. 30d; without it the key does not expire', durationMs)
    .option('--allow-ip <cidr>', 'an address or network it may be used from; repeatable', collect, [])
    .option('--rate-limit <n>', "requests in a window, 0 for no limit; without it, the plan's", limitNumber)
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(async (services) => {
        const { key, keyValue } = await services.keys.createKey({
          workspaceId: await workspaceOf(services, options),
          environment: toEnvironment(options.environment),
          scope: scopes.toValue(options.scope),
          name: options.name,
          allowedIps: options.allowIp,
          ...(options.rateLimit === undefined ? {} : { rateLimitRequests: options.rateLimit }),
          ...(options.expiresIn === undefined ? {} : { expireTime: timestampFromMs(Date.now() + options.expiresIn) }),
        });
        if (key)
          print(options, keyDocument(key, keyValue), () => `${keyValue}\n\n${key.id}; the value is shown this once`);
      }),
    );
}
