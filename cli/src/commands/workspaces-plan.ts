import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { listedWorkspace } from '../documents.ts';
import { noPlan } from '../plans.ts';
import { print } from '../print.ts';
import { existing } from '../workspace.ts';

export function workspacesPlanCommand(): Command {
  return new Command('plan')
    .description('set the plan of a workspace')
    .argument('<name-or-id>', 'name or ID of the workspace')
    .requiredOption('--plan <name>', `name of the plan, or "${noPlan}" for the default limits`)
    .action((nameOrId: string, options: { plan: string; json?: boolean }, command: Command) => {
      // An empty name would mean no plan.
      if (options.plan === '') command.error(`error: give the name of a plan, or --plan ${noPlan}`);
      return withServices(['workspaces'], async (services) => {
        const plan = options.plan === noPlan ? '' : options.plan;
        const workspaceId = await existing(services, nameOrId);
        const { workspace } = await services.workspaces.setWorkspacePlan({ workspaceId, plan });
        print(options, listedWorkspace(workspace), () =>
          plan ? `${workspaceId} is on plan ${plan}` : `${workspaceId} has no plan`,
        );
      });
    });
}
