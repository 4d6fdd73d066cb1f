import { Command } from 'commander';
import { limitNumber, positiveNumber } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { noPlan, planDocument } from '../plans.ts';
import { print } from '../print.ts';

interface Options {
  rateLimit?: bigint;
  window?: number;
  quota?: bigint;
  workspaceRateLimit?: bigint;
  maxKeys?: bigint;
  maxWebhooks?: bigint;
  json?: boolean;
}

export function plansSetCommand(): Command {
  return new Command('set')
    .description('create or replace a plan; an omitted limit uses the default setting, 0 means no limit')
    .argument('<name>', 'name of the plan')
    .option('--rate-limit <n>', 'requests per key and window', limitNumber)
    .option('--workspace-rate-limit <n>', 'requests of all keys of an environment per window', limitNumber)
    .option('--window <seconds>', 'length of both windows', positiveNumber)
    .option('--quota <n>', 'requests per workspace, environment and month', limitNumber)
    .option('--max-keys <n>', 'valid keys per workspace', limitNumber)
    .option('--max-webhooks <n>', 'webhooks per workspace', limitNumber)
    .action((name: string, options: Options, command: Command) => {
      if (name === noPlan) command.error(`error: "${noPlan}" is reserved; choose another name`);
      return withServices(['plans'], async (services) => {
        const { plan } = await services.plans.setPlan({
          plan: {
            name,
            ...(options.rateLimit === undefined ? {} : { rateLimitRequests: options.rateLimit }),
            ...(options.window === undefined ? {} : { rateLimitWindowSeconds: BigInt(options.window) }),
            ...(options.quota === undefined ? {} : { monthlyQuota: options.quota }),
            ...(options.workspaceRateLimit === undefined
              ? {}
              : { workspaceRateLimitRequests: options.workspaceRateLimit }),
            ...(options.maxKeys === undefined ? {} : { maxKeys: options.maxKeys }),
            ...(options.maxWebhooks === undefined ? {} : { maxWebhooks: options.maxWebhooks }),
          },
        });
        if (plan)
          print(options, planDocument(plan), () => `Saved plan ${plan.name}. It takes effect within 30 seconds.`);
      });
    });
}
