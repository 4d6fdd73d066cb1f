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
    .description('send a mail that says that it is a test to the recipients of a rule')
    .addOption(new Option('--kind <kind>', 'the rule').choices(alertKinds.names).makeOptionMandatory())
    .addOption(new Option('--environment <name>', 'whose rule').choices(['live', 'test']).default('live'))
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(async (services) => {
        const { addresses } = await alertsOf(services).testRule({
          workspaceId: await workspaceOf(services, options),
          environment: toEnvironment(options.environment),
          kind: alertKinds.toValue(options.kind),
        });
        print(options, { addresses }, () =>
          addresses.length === 0 ? 'the rule has no recipients' : `on its way to ${addresses.join(', ')}`,
        );
      }),
    );
}
