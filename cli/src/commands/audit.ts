import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { AuditEntry } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { Command, Option } from 'commander';
import { pointInTime, positiveNumber, workspaceOption } from '../arguments.ts';
import { type Services, withServices } from '../connect.ts';
import { environmentName, time } from '../documents.ts';
import { takePages } from '../pages.ts';
import { note, print, table } from '../print.ts';
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

export function auditCommand(): Command {
  return new Command('audit')
    .description('show who changed what, newest first')
    .option('--target <id>', 'changes of one key, webhook, workspace or plan')
    .option('--action <action>', 'one kind of change ("key.created"), or all that begin so ("key.")')
    .option('--since <time>', 'an ISO 8601 time, or how long ago ("24h")', pointInTime)
    .addOption(
      new Option('--installation', 'what concerns no workspace (plans, sign-ins of nobody)').conflicts('workspace'),
    )
    .option('--limit <n>', 'how many at most', positiveNumber, 100)
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(async (services) => {
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
        if (more) note(`these are the newest ${data.length}; --limit shows more`);
      }),
    );
}

async function listEntries(services: Services, options: Options): Promise<{ found: AuditEntry[]; more: boolean }> {
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
