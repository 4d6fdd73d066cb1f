import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { fullKeyDocument } from '@rms/api/key/document';
import { Command, Option } from 'commander';
import { collect, futureTime, keyLimitNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { workspaceWith } from '../workspace.ts';

interface Options {
  name?: string;
  allowIp?: string[];
  anyIp?: boolean;
  rateLimit?: 'default' | bigint;
  expires?: 'never' | Date;
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
    .option(
      '--expires <time>',
      'when the key expires: an ISO 8601 time, a duration from now ("30d"), or "never"',
      expiryOrNever,
    )
    .addOption(workspaceOption())
    .action((id: string, options: Options, command: Command) => {
      const { name, rateLimit, expires } = options;
      const cidrs = options.anyIp ? [] : options.allowIp;
      if ([name, cidrs, rateLimit, expires].every((value) => value === undefined)) {
        command.error('error: nothing to change; give --name, --allow-ip, --any-ip, --rate-limit or --expires');
      }
      return withServices(['workspaces', 'keys', 'lookup'], async (services) => {
        const { key } = await services.keys.updateKey({
          workspaceId: await workspaceWith(services, options, [services.lookup], id),
          id,
          ...(name === undefined ? {} : { name }),
          ...(cidrs ? { allowedIps: { cidrs } } : {}),
          ...(rateLimit === undefined ? {} : { rateLimit: rateLimit === 'default' ? {} : { requests: rateLimit } }),
          ...(expires === undefined ? {} : { expiry: expires === 'never' ? {} : { time: timestampFromDate(expires) } }),
        });
        print(options, fullKeyDocument(key), () => `Updated ${id}.`);
      });
    });
}

function expiryOrNever(text: string): 'never' | Date {
  return text === 'never' ? text : futureTime(text);
}

function limitOrDefault(text: string): 'default' | bigint {
  return text === 'default' ? text : keyLimitNumber(text);
}
