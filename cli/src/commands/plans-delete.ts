import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';

export function plansDeleteCommand(): Command {
  return new Command('delete')
    .description('delete a plan that no workspace has')
    .argument('<name>', 'name of the plan')
    .action((name: string, options: { json?: boolean }) =>
      withServices(['plans'], async ({ plans }) => {
        await plans.deletePlan({ name });
        print(options, { name }, () => `Deleted plan ${name}.`);
      }),
    );
}
