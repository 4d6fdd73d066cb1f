import { Command, Option } from 'commander';
import { collect, keyLimitNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { keyDocument } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceWith } from '../workspace.ts';

interface Options {
  name?: string;
  allowIp?: string[];
  anyIp?: boolean;
  rateLimit?: 'default' | bigint;
  workspace?: string;
  json?: boolean;
}

export function keysUpdateCommand(): Command {
  return new Command('update')
    .description('change the given attributes of a key; effective everywhere when the command returns')
    .argument('<id>', 'key ID')
    .option('--name <name>', 'name of the key')
    .addOption(
      new Option('--allow-ip <cidr>', 'allowed client address or network; replaces the current list; repeatable')
        .argParser(collect)
        .conflicts('anyIp'),
    )
    .option('--any-ip', 'allow any client address')
    .option(
      '--rate-limit <n>',
      'requests per window, at most the limit of the plan; "default" for the limit of the plan',
      limitOrDefault,
    )
    .addOption(workspaceOption())
    .action((id: string, options: Options, command: Command) => {
      const { name, rateLimit } = options;
      const cidrs = options.anyIp ? [] : options.allowIp;
      if (name === undefined && cidrs === undefined && rateLimit === undefined) {
        command.error('error: nothing to change; give --name, --allow-ip, --any-ip or --rate-limit');
      }
      return withServices(['workspaces', 'keys', 'lookup'], async (services) => {
        const { key } = await services.keys.updateKey({
          workspaceId: await workspaceWith(services, options, [services.lookup], id),
          id,
          ...(name === undefined ? {} : { name }),
          ...(cidrs ? { allowedIps: { cidrs } } : {}),
          ...(rateLimit === undefined ? {} : { rateLimit: rateLimit === 'default' ? {} : { requests: rateLimit } }),
        });
        if (key) print(options, keyDocument(key), () => `Updated ${key.id}.`);
      });
    });
}

function limitOrDefault(text: string): 'default' | bigint {
  return text === 'default' ? text : keyLimitNumber(text);
}
