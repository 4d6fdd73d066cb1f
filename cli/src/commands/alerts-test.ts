import { alertKindMessages, testEmailDocument } from '@rms/api/alert-rule/document';
import { type AlertKind, alertKinds } from '@rms/base/alert-rules';
import { type Environment, toEnvironmentMessage } from '@rms/base/tenant';
import { Command, Option } from 'commander';
import { environmentOption, workspaceOption } from '../arguments.ts';
import { alertsOf, withServices } from '../connect.ts';
import { print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  kind: AlertKind;
  environment: Environment;
  workspace?: string;
  json?: boolean;
}

export function alertsTestCommand(): Command {
  return new Command('test')
    .description('send a test email to the recipients of a rule, and show the reply of the SMTP server')
    .addOption(new Option('--kind <kind>', 'kind of the rule').choices(alertKinds).makeOptionMandatory())
    .addOption(environmentOption('environment of the rule').default('live'))
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(['workspaces', 'alerts'], async (services) => {
        const { addresses, emails: sent } = await alertsOf(services).testRule({
          workspaceId: await workspaceOf(services, options),
          environment: toEnvironmentMessage(options.environment),
          kind: alertKindMessages.toValue(options.kind),
        });
        const emails = sent.map(testEmailDocument);
        print(options, { addresses, emails }, () => {
          if (addresses.length === 0) return 'The rule has no recipients.';
          if (emails.length === 0)
            return `Test email queued for ${addresses.join(', ')}. Emails are not sent: set SMTP_URL.`;
          return table(
            ['RECIPIENT', 'STATE', 'LAST REPLY'],
            emails.map(({ address, state, reply }) => [address, state, reply ?? 'none yet']),
          );
        });
        // Scripts can rely on the exit status.
        if (emails.some(({ state }) => state !== 'sent')) process.exitCode = 1;
      }),
    );
}
