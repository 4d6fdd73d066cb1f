import { AlertKind, IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Command, Option } from 'commander';
import { alertKinds, incidentDocument, incidentStates } from '../alerts.ts';
import { allWorkspacesOption, positiveNumber, workspaceOption } from '../arguments.ts';
import { alertsOf, withServices } from '../connect.ts';
import { takePages } from '../pages.ts';
import { note, print, table } from '../print.ts';
import { newestIn, type WorkspaceOptions, withWorkspaces } from '../workspace.ts';

interface Options extends WorkspaceOptions {
  state?: (typeof incidentStates.names)[number];
  kind?: (typeof alertKinds.names)[number];
  limit: number;
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
    .addOption(allWorkspacesOption())
    .action((options: Options) =>
      withServices(['workspaces', 'alerts'], async (services) => {
        const alerts = alertsOf(services);
        const state = options.state ? incidentStates.toValue(options.state) : IncidentState.UNSPECIFIED;
        const kind = options.kind ? alertKinds.toValue(options.kind) : AlertKind.UNSPECIFIED;
        const { found: data, more } = await newestIn(services, options, options.limit, (workspaceId) =>
          takePages(
            options.limit,
            async (page) => {
              const { incidents, nextPageToken } = await alerts.listIncidents({ workspaceId, state, kind, ...page });
              return { items: incidents.map(incidentDocument), nextPageToken };
            },
            maxPageSize,
          ),
        );
        print(options, { data }, () =>
          table(
            ...withWorkspaces(
              options,
              ['OPENED', 'CLOSED', 'ENVIRONMENT', 'RULE', 'STATE', 'SUBJECT', 'OBJECT', 'SUMMARY'],
              data,
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
          ),
        );
        if (more) note(`showing the newest ${data.length} incidents; --limit shows more`);
      }),
    );
}
