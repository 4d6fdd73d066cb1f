import { Command, Option } from 'commander';
import { collect, limitNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { keyDocument } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

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
    .description('change what is given of a key; the change holds everywhere once this has answered')
    .argument('<id>', 'the key')
    .option('--name <name>', 'what it is for')
    .addOption(
      new Option('--allow-ip <cidr>', 'the only address or network it may be used from; repeatable')
        .argParser(collect)
        .conflicts('anyIp'),
    )
    .option('--any-ip', 'it may be used from any address')
    .option('--rate-limit <n>', 'requests in a window, 0 for no limit; "default": as the plan says', limitOrDefault)
    .addOption(workspaceOption())
    .action((id: string, options: Options, command: Command) => {
      const { name, rateLimit } = options;
      const cidrs = options.anyIp ? [] : options.allowIp;
      if (name === undefined && cidrs === undefined && rateLimit === undefined) {
        command.error('error: say what to change: --name, --allow-ip, --any-ip or --rate-limit');
      }
      return withServices(async (services) => {
        const { key } = await services.keys.updateKey({
          workspaceId: await workspaceOf(services, options),
          id,
          ...(name === undefined ? {} : { name }),
          ...(cidrs ? { allowedIps: { cidrs } } : {}),
          ...(rateLimit === undefined ? {} : { rateLimit: rateLimit === 'default' ? {} : { requests: rateLimit } }),
        });
        if (key) print(options, keyDocument(key), () => `${key.id} is changed`);
      });
    });
}

function limitOrDefault(text: string): 'default' | bigint {
  return text === 'default' ? text : limitNumber(text);
}
