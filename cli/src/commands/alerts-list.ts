import { alertKindMessages } from '@rms/api/alert-rule/document';
import { incidentDocument, withStatus } from '@rms/api/incident/document';
import { type AlertKind, alertKinds, alertRules } from '@rms/base/alert-rules';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import { AlertKind as KindMessage } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Command, Option } from 'commander';
import { allWorkspacesOption, positiveNumber, workspaceOption } from '../arguments.ts';
import { alertsOf, withServices } from '../connect.ts';
import { takePages } from '../pages.ts';
import { note, print, table } from '../print.ts';
import { newestIn, type WorkspaceOptions, withWorkspaces } from '../workspace.ts';

interface Options extends WorkspaceOptions {
  status?: 'open' | 'closed';
  kind?: AlertKind;
  limit: number;
  json?: boolean;
}

const maxPageSize = 100;

export function alertsListCommand(): Command {
  return new Command('list')
    .description('list incidents of both environments, newest first')
    .addOption(new Option('--status <status>', 'only incidents with this status').choices(['open', 'closed']))
    .addOption(new Option('--kind <kind>', 'only incidents of this rule').choices(alertKinds))
    .option('--limit <n>', 'maximum number of incidents', positiveNumber, maxPageSize)
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption())
    .action((options: Options) =>
      withServices(['workspaces', 'alerts'], async (services) => {
        const alerts = alertsOf(services);
        const filter = {
          ...withStatus(options.status),
          kind: options.kind ? alertKindMessages.toValue(options.kind) : KindMessage.UNSPECIFIED,
        };
        const { found: data, more } = await newestIn(services, options, options.limit, (workspaceId) =>
          takePages(
            options.limit,
            async (page) => {
              const { incidents, nextPageToken } = await alerts.listIncidents({ workspaceId, ...filter, ...page });
              const items = incidents.map((incident) => ({
                environment: fromEnvironmentMessage(incident.environment),
                ...incidentDocument(incident),
              }));
              return { items, nextPageToken };
            },
            maxPageSize,
          ),
        );
        print(options, { data }, () =>
          table(
            ...withWorkspaces(
              options,
              ['OPENED', 'CLOSED', 'ENVIRONMENT', 'RULE', 'STATUS', 'SUBJECT', 'NAME', 'SUMMARY'],
              data,
              data.map((one) => [
                one.opened_at,
                one.closed_at ?? '',
                one.environment,
                alertRules[one.kind].name,
                one.status,
                one.subject.id ?? '',
                one.subject.name ?? '',
                one.summary,
              ]),
            ),
          ),
        );
        if (more) note(`showing the newest ${data.length} incidents; --limit shows more`);
      }),
    );
}
