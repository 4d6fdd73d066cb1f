import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { AuditEntry } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { type Command, Option } from 'commander';
import { pointInTime, positiveNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { environmentName, time } from '../documents.ts';
import { takePages } from '../pages.ts';
import { note, print, table } from '../print.ts';
import type { Services } from '../services.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  target?: string;
  action?: string;
  since?: Date;
  installation?: boolean;
  limit: number;
  workspace?: string;
  json?: boolean;
}

export function define(audit: Command): void {
  audit
    .option('--target <id>', 'only changes of this key, webhook, workspace or plan')
    .option('--action <action>', 'only this action ("key.created"), or actions with this prefix ("key.")')
    .option('--since <time>', 'only entries since an ISO 8601 time or a duration ago ("24h")', pointInTime)
    .addOption(
      new Option('--installation', 'entries without a workspace (plans, failed sign-ins of unknown users)').conflicts(
        'workspace',
      ),
    )
    .option('--limit <n>', 'maximum number of entries', positiveNumber, 100)
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(['workspaces', 'audit'], async (services) => {
        const { found, more } = await listEntries(services, options);
        const data = found.map(entryDocument);
        print(options, { data }, () =>
          table(
            ['TIME', 'ACTOR', 'ADDRESS', 'ACTION', 'TARGET', 'DETAILS', 'REQUEST'],
            data.map((one) => [
              ...[one.at ?? '', one.actor, one.address ?? '', one.action, one.target_id],
              ...[JSON.stringify(one.details), one.request_id ?? ''],
            ]),
          ),
        );
        if (more) note(`showing the newest ${data.length} entries; --limit shows more`);
      }),
    );
}

async function listEntries(
  services: Pick<Services, 'workspaces' | 'audit'>,
  options: Options,
): Promise<{ found: AuditEntry[]; more: boolean }> {
  const filter = {
    workspaceId: options.installation ? '' : await workspaceOf(services, options),
    targetId: options.target ?? '',
    action: options.action ?? '',
    ...(options.since ? { sinceTime: timestampFromDate(options.since) } : {}),
  };
  return takePages(options.limit, async (page) => {
    const { entries: items, nextPageToken } = await services.audit.listAuditEntries({ ...filter, ...page });
    return { items, nextPageToken };
  });
}

function entryDocument(entry: AuditEntry) {
  const { id, actor, address, requestId, environment, action, targetId } = entry;
  return {
    id,
    at: time(entry.time),
    actor,
    address: address || null,
    request_id: requestId || null,
    environment: environment === Environment.UNSPECIFIED ? null : environmentName(environment),
    action,
    target_id: targetId,
    details: JSON.parse(entry.detailsJson || '{}') as unknown,
  };
}
