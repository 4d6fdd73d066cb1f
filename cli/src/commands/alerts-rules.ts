import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { Command } from 'commander';
import { ruleDocument } from '../alerts.ts';
import { allWorkspacesOption, workspaceOption } from '../arguments.ts';
import { alertsOf, withServices } from '../connect.ts';
import { print, table } from '../print.ts';
import { listIn, type WorkspaceOptions, withWorkspaces } from '../workspace.ts';

export function alertsRulesCommand(): Command {
  return new Command('rules')
    .description('list alert rules of both environments and their recipients')
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption())
    .action((options: WorkspaceOptions & { json?: boolean }) =>
      withServices(['workspaces', 'alerts'], async (services) => {
        const alerts = alertsOf(services);
        const data = await listIn(services, options, async (workspaceId) => {
          const responses = [Environment.LIVE, Environment.SANDBOX].map((environment) =>
            alerts.listRules({ workspaceId, environment }),
          );
          return (await Promise.all(responses)).flatMap(({ rules }) => rules).map(ruleDocument);
        });
        print(options, { data }, () =>
          table(
            ...withWorkspaces(
              options,
              ['ENVIRONMENT', 'RULE', 'NAME', 'ENABLED', 'THRESHOLD', 'WINDOW', 'MINIMUM', 'RECIPIENTS'],
              data,
              data.map((rule) => [
                rule.environment,
                rule.kind,
                rule.name,
                rule.enabled ? 'yes' : 'no',
                String(rule.threshold),
                rule.window_seconds === null ? '' : `${rule.window_seconds} s`,
                rule.minimum === 0 ? '' : String(rule.minimum),
                [...(rule.to_owners ? ['owners'] : []), ...rule.recipients].join(', '),
              ]),
            ),
          ),
        );
      }),
    );
}
