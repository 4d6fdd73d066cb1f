import { AlertKind, IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Command, Option } from 'commander';
import { alertKinds, incidentDocument, incidentStates } from '../alerts.ts';
import { positiveNumber, workspaceOption } from '../arguments.ts';
import { alertsOf, withServices } from '../connect.ts';
import { note, print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  state?: (typeof incidentStates.names)[number];
  kind?: (typeof alertKinds.names)[number];
  limit: number;
  workspace?: string;
  json?: boolean;
}

const maxPageSize = 100;

export function alertsListCommand(): Command {
  return new Command('list')
    .description('list incidents of both environments, newest first')
    .addOption(new Option('--state <state>', 'only incidents in this state').choices(incidentStates.names))
    .addOption(new Option('--kind <kind>', 'only incidents of this rule').choices(alertKinds.names))
    .option('--limit <n>', 'maximum number of incidents', positiveNumber, maxPageSize)
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(['workspaces', 'alerts'], async (services) => {
        const { incidents, nextPageToken } = await alertsOf(services).listIncidents({
          workspaceId: await workspaceOf(services, options),
          state: options.state ? incidentStates.toValue(options.state) : IncidentState.UNSPECIFIED,
          kind: options.kind ? alertKinds.toValue(options.kind) : AlertKind.UNSPECIFIED,
          pageSize: Math.min(options.limit, maxPageSize),
        });
        const data = incidents.map(incidentDocument);
        print(options, { data }, () =>
          table(
            ['OPENED', 'CLOSED', 'ENVIRONMENT', 'RULE', 'STATE', 'SUBJECT', 'OBJECT', 'SUMMARY'],
            data.map((one) => [
              one.opened_at ?? '',
              one.closed_at ?? '',
              one.environment,
              one.name,
              one.state,
              one.subject_id,
              one.object ?? '',
              one.summary,
            ]),
          ),
        );
        if (nextPageToken !== '') note('there are more incidents; --limit shows up to 100');
      }),
    );
}
