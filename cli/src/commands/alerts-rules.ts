import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { Command } from 'commander';
import { ruleDocument } from '../alerts.ts';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

export function alertsRulesCommand(): Command {
  return new Command('rules')
    .description('list the rules of both environments: what alerts whom')
    .addOption(workspaceOption())
    .action((options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const answers = [Environment.LIVE, Environment.SANDBOX].map((environment) =>
          services.alerts.listRules({ workspaceId, environment }),
        );
        const data = (await Promise.all(answers)).flatMap(({ rules }) => rules).map(ruleDocument);
        print(options, { data }, () =>
          table(
            ['ENVIRONMENT', 'RULE', 'ON', 'THRESHOLD', 'WINDOW', 'MINIMUM', 'RECIPIENTS'],
            data.map((rule) => [
              rule.environment,
              rule.kind,
              rule.enabled ? 'yes' : 'no',
              String(rule.threshold),
              rule.window_seconds === null ? '' : `${rule.window_seconds} s`,
              rule.minimum === 0 ? '' : String(rule.minimum),
              [...(rule.to_owners ? ['owners'] : []), ...rule.recipients].join(', '),
            ]),
          ),
        );
      }),
    );
}
