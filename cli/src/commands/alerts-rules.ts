import { alertRuleDocument } from '@rms/api/alert-rule/document';
import { alertRules } from '@rms/base/alert-rules';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { Command } from 'commander';
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
          return (await Promise.all(responses))
            .flatMap(({ rules }) => rules)
            .map((rule) => ({ environment: fromEnvironmentMessage(rule.environment), ...alertRuleDocument(rule) }));
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
                alertRules[rule.kind].name,
                rule.enabled ? 'yes' : 'no',
                rule.threshold === null ? '' : String(rule.threshold),
                rule.window === null ? '' : `${rule.window} s`,
                rule.minimum === null ? '' : String(rule.minimum),
                [...(rule.to_owners ? ['owners'] : []), ...rule.recipients].join(', '),
              ]),
            ),
          ),
        );
      }),
    );
}
