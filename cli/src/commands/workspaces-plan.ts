import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { workspaceDocument } from '../documents.ts';
import { noPlan } from '../plans.ts';
import { print } from '../print.ts';

export function workspacesPlanCommand(): Command {
  return new Command('plan')
    .description('put a workspace on a plan')
    .argument('<id>', 'the workspace')
    .requiredOption('--plan <name>', `the plan, or "${noPlan}": the settings hold`)
    .action((workspaceId: string, options: { plan: string; json?: boolean }, command: Command) => {
      // An empty one would mean none.
      if (options.plan === '') command.error(`error: say which plan, or --plan ${noPlan}`);
      return withServices(async (services) => {
        const plan = options.plan === noPlan ? '' : options.plan;
        const { workspace } = await services.workspaces.setWorkspacePlan({ workspaceId, plan });
        if (!workspace) return;
        print(options, workspaceDocument(workspace), () =>
          plan ? `${workspaceId} is on the plan ${plan}` : `${workspaceId} is on no plan`,
        );
      });
    });
}
