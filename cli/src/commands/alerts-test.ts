import { Command, Option } from 'commander';
import { alertKinds } from '../alerts.ts';
import { workspaceOption } from '../arguments.ts';
import { alertsOf, withServices } from '../connect.ts';
import { type EnvironmentName, toEnvironment } from '../documents.ts';
import { print } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  kind: (typeof alertKinds.names)[number];
  environment: EnvironmentName;
  workspace?: string;
  json?: boolean;
}

export function alertsTestCommand(): Command {
  return new Command('test')
    .description('send a test email to the recipients of a rule')
    .addOption(new Option('--kind <kind>', 'kind of the rule').choices(alertKinds.names).makeOptionMandatory())
    .addOption(new Option('--environment <name>', 'environment of the rule').choices(['live', 'test']).default('live'))
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(['workspaces', 'alerts'], async (services) => {
        const { addresses } = await alertsOf(services).testRule({
          workspaceId: await workspaceOf(services, options),
          environment: toEnvironment(options.environment),
          kind: alertKinds.toValue(options.kind),
        });
        print(options, { addresses }, () =>
          addresses.length === 0 ? 'The rule has no recipients.' : `Test email queued for ${addresses.join(', ')}.`,
        );
      }),
    );
}
