import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { AuditEntry } from '@rms/api';
import { actorText, auditEntryDocument, changesText, targetText } from '@rms/api/audit-entry/document';
import { RmsError } from '@rms/base/errors';
import { type Environment, toEnvironmentMessage } from '@rms/base/tenant';
import { type Command, Option } from 'commander';
import { allWorkspacesOption, environmentOption, pointInTime, positiveNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { type Pages, takePages } from '../pages.ts';
import { note, print, table } from '../print.ts';
import type { Services } from '../services.ts';
import { type Listed, newestIn, type WorkspaceOptions, withWorkspaces } from '../workspace.ts';

interface Options extends WorkspaceOptions {
  target?: string;
  action?: string;
  since?: Date;
  until?: Date;
  actor?: string;
  environment?: Environment;
  installation?: boolean;
  limit: number;
  json?: boolean;
}

export function define(audit: Command): void {
  audit
    .option('--target <id>', 'only changes of this key, webhook, workspace or plan')
    .option('--action <action>', 'only this action ("key.created"), or actions with this prefix ("key.")')
    .option('--since <time>', 'only entries since an ISO 8601 time or a duration ago ("24h")', pointInTime)
    .option('--until <time>', 'only entries before this time', pointInTime)
    .option('--actor <actor>', 'only changes by this actor, e.g. user:usr_…, key:key_… or operator:alice@laptop')
    .addOption(environmentOption('only changes in this environment, and those that concern both'))
    .addOption(
      new Option(
        '--installation',
        'entries without a workspace (plans, deleted workspaces, failed sign-ins of unknown users)',
      ).conflicts(['workspace', 'allWorkspaces']),
    )
    .option('--limit <n>', 'maximum number of entries', positiveNumber, 100)
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption())
    .action((options: Options) =>
      withServices(['workspaces', 'audit', 'lookup', 'webhooksLookup'], async (services) => {
        const read = (workspaceId: string) => listEntries(services, workspaceId, options);
        const { found: data, more }: Pages<Listed<AuditEntry>> = options.installation
          ? await read('')
          : await alsoDeleted(services, await withTarget(services, options), options.limit, read);
        print(options, { data }, () =>
          table(
            ...withWorkspaces(
              options,
              ['TIME', 'ACTOR', 'ADDRESS', 'REQUEST', 'ACTION', 'TARGET', 'CHANGES'],
              data,
              data.map((one) => [
                ...[one.created_at, actorText(one), one.client_ip ?? '', one.request_id ?? ''],
                ...[one.action, targetText(one), changesText(one)],
              ]),
            ),
          ),
        );
        if (more) note(`showing the newest ${data.length} entries; --limit shows more`);
      }),
    );
}

/** Like {@link newestIn}, but also reads the log of a deleted workspace. */
async function alsoDeleted(
  services: Pick<Services, 'workspaces'>,
  options: WorkspaceOptions,
  limit: number,
  read: (workspaceId: string) => Promise<Pages<AuditEntry>>,
): Promise<Pages<Listed<AuditEntry>>> {
  try {
    return await newestIn(services, options, limit, read);
  } catch (error) {
    const isMissing = error instanceof RmsError && error.code === 'not_found' && options.workspace !== undefined;
    const entries = isMissing ? await read(options.workspace) : undefined;
    if (!entries?.found.length) throw error;
    return entries;
  }
}

/** Adds the target's workspace to the options. A deleted target belongs to no workspace. */
async function withTarget(
  services: Pick<Services, 'workspaces' | 'lookup' | 'webhooksLookup'>,
  options: Options,
): Promise<WorkspaceOptions> {
  const { target = '', workspace, allWorkspaces } = options;
  if (workspace !== undefined || allWorkspaces) return options;
  if (target.startsWith('ws_')) return { workspace: target };
  const [lookup] = [
    ...(target.startsWith('key_') ? [services.lookup] : []),
    ...(target.startsWith('wh_') ? [services.webhooksLookup] : []),
  ];
  const [found] = lookup ? (await lookup.findWorkspaces({ id: target })).workspaceIds : [];
  return found === undefined ? options : { workspace: found };
}

async function listEntries(
  services: Pick<Services, 'audit'>,
  workspaceId: string,
  options: Options,
): Promise<Pages<AuditEntry>> {
  const filter = {
    workspaceId,
    targetId: options.target ?? '',
    action: options.action ?? '',
    actor: options.actor ?? '',
    ...(options.since ? { sinceTime: timestampFromDate(options.since) } : {}),
    ...(options.until ? { untilTime: timestampFromDate(options.until) } : {}),
    ...(options.environment ? { environment: toEnvironmentMessage(options.environment) } : {}),
  };
  return takePages(options.limit, async (page) => {
    const { entries: items, nextPageToken } = await services.audit.listAuditEntries({ ...filter, ...page });
    return { items: items.map(auditEntryDocument), nextPageToken };
  });
}
