import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { planDocument } from '../plans.ts';
import { print, table } from '../print.ts';

export function plansListCommand(): Command {
  return new Command('list').description('list plans').action((options: { json?: boolean }) =>
    withServices(['plans'], async (services) => {
      const { plans } = await services.plans.listPlans({});
      const data = plans.map(planDocument);
      print(options, { data }, () =>
        table(
          ['NAME', 'RATE LIMIT', 'WORKSPACE LIMIT', 'WINDOW', 'MONTHLY QUOTA', 'KEYS', 'WEBHOOKS'],
          data.map((plan) => [
            plan.name,
            limitText(plan.rate_limit_requests),
            limitText(plan.workspace_rate_limit_requests),
            plan.rate_limit_window_seconds === null ? 'default' : `${plan.rate_limit_window_seconds} s`,
            limitText(plan.monthly_quota),
            limitText(plan.max_keys),
            limitText(plan.max_webhooks),
          ]),
        ),
      );
    }),
  );
}

function limitText(limit: number | null): string {
  if (limit === null) return 'default';
  return limit === 0 ? 'none' : String(limit);
}
