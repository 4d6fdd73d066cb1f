import { Command } from 'commander';
import { limitNumber, positiveNumber } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { noPlan, planDocument } from '../plans.ts';
import { print } from '../print.ts';

interface Options {
  rateLimit?: bigint;
  window?: number;
  quota?: bigint;
  json?: boolean;
}

export function plansSetCommand(): Command {
  return new Command('set')
    .description('make a plan or replace it; what is left out is as the settings say, 0 is no limit')
    .argument('<name>', 'its name')
    .option('--rate-limit <n>', 'requests that each key may make in a window', limitNumber)
    .option('--window <seconds>', 'the length of a window', positiveNumber)
    .option('--quota <n>', 'requests of a workspace and environment in a month', limitNumber)
    .action((name: string, options: Options, command: Command) => {
      if (name === noPlan) command.error(`error: "${noPlan}" means no plan; choose another name`);
      return withServices(async (services) => {
        const { plan } = await services.plans.setPlan({
          plan: {
            name,
            ...(options.rateLimit === undefined ? {} : { rateLimitRequests: options.rateLimit }),
            ...(options.window === undefined ? {} : { rateLimitWindowSeconds: BigInt(options.window) }),
            ...(options.quota === undefined ? {} : { monthlyQuota: options.quota }),
          },
        });
        if (plan) print(options, planDocument(plan), () => `${plan.name} is set; it holds within half a minute`);
      });
    });
}
