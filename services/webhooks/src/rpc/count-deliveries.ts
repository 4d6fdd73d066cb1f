import { timestampDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { firstId } from '@rms/base/ids';
import { type Environment, toEnvironmentMessage, toEnvironments } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { type DeliveriesService, DeliveryGrouping } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { enumNames, type Handlers } from '@rms/rpc';
import { deliveryStatuses, toStatusNames } from '../delivery/delivery-message.ts';
import {
  isTest,
  type LogFilter,
  type LoggedStatus,
  type LogSource,
  sourcesOf,
  statusOf,
} from '../delivery/log-filter.ts';
import type { HandlerParts } from './parts.ts';

const groupings = enumNames(DeliveryGrouping);

/** Counts deliveries by webhook, status or workspace. */
export function countDeliveries({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['countDeliveries'] {
  return async ({ workspaceId, environment, groupBy: grouping, statuses: statusValues, since, until }) => {
    const groupBy = groupings.toName(grouping);
    const statuses = toStatusNames(statusValues);
    if (!groupBy) throw invalid('group_by', groupings.names);
    if (!statuses) throw invalid('statuses', deliveryStatuses.names);
    const { groups, count, isMinimum } = await readCounts(pool, {
      workspaceId: workspaceId || undefined,
      environments: toEnvironments(environment),
      groupBy,
      filter: {
        statuses: statuses.length > 0 ? statuses : undefined,
        since: since && timestampDate(since),
        until: until && timestampDate(until),
      },
    });
    return {
      groups: groups.map((group) => ({
        workspaceId: group.workspaceId ?? '',
        ...(group.environment ? { environment: toEnvironmentMessage(group.environment) } : {}),
        webhookId: group.webhookId ?? '',
        status: group.status ? deliveryStatuses.toValue(group.status) : DeliveryStatus.UNSPECIFIED,
        count: BigInt(group.count),
      })),
      count: BigInt(count),
      countIsMinimum: isMinimum,
    };
  };
}

function invalid(field: string, names: readonly string[]): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message: `must contain only ${names.join(', ')}` }] });
}

/** Maximum number of rows that a count reads from the queue and from the log, each. */
const maxCounted = 1_000_000;
const maxGroups = 1_000;

type Grouping = 'webhook' | 'status' | 'workspace';

/** Number of deliveries of a webhook, in a status, or of a workspace. The other fields are null. */
interface DeliveryGroup {
  readonly workspaceId: string | null;
  readonly environment: Environment | null;
  readonly webhookId: string | null;
  readonly status: LoggedStatus | null;
  readonly count: number;
}

interface DeliveryCounts {
  /** The largest groups, at most 1,000, the largest first. */
  readonly groups: readonly DeliveryGroup[];
  /** Number of deliveries in all groups. */
  readonly count: number;
  /** Whether there may be more: counting stopped after {@link maxCounted} rows. */
  readonly isMinimum: boolean;
}

/** Deliveries to count, and the grouping property. */
interface Counting {
  /** undefined: all workspaces. */
  readonly workspaceId: string | undefined;
  readonly environments: readonly Environment[];
  readonly groupBy: Grouping;
  readonly filter: Pick<LogFilter, 'statuses' | 'since' | 'until'>;
}

/** Columns of a group, and their names in the result. */
const columnNames = {
  workspace_id: '"workspaceId"',
  environment: 'environment',
  webhook_id: '"webhookId"',
  status: 'status',
} as const;
type GroupColumn = keyof typeof columnNames;

const keyColumns: Readonly<Record<Grouping, readonly GroupColumn[]>> = {
  webhook: ['workspace_id', 'environment', 'webhook_id'],
  status: ['status'],
  workspace: ['workspace_id'],
};

/** Counts deliveries in one statement, without test deliveries. Reads at most {@link maxCounted} rows of each table; the timeout bounds it too. */
async function readCounts(db: Queryable, counting: Counting): Promise<DeliveryCounts> {
  const { workspaceId, environments, groupBy, filter } = counting;
  const { statuses, since, until } = filter;
  const values = [
    environments,
    workspaceId ?? null,
    since ? firstId('dlv', since.getTime()) : null,
    until ? firstId('dlv', until.getTime()) : null,
    statuses ?? null,
  ];
  // The limit bounds the rows read; the outer condition filters them.
  const rowsOf = (source: LogSource) => `
       (select '${source}' as source, workspace_id, environment, webhook_id, ${statusOf[source]} as status
          from webhooks.${source} as d
         where environment = any($1)
           and ($2::text is null or workspace_id = $2) and not ${isTest}
           and ($3::text is null or id >= $3) and ($4::text is null or id < $4)
           ${source === 'delivery_log' && statuses && !statuses.includes('delivered') ? `and status <> 'delivered'` : ''}
         limit ${maxCounted})`;
  const keys = keyColumns[groupBy];
  const column = (name: GroupColumn) => `${keys.includes(name) ? name : 'null::text'} as ${columnNames[name]}`;
  // Without groups, the only row contains just "read".
  const { rows } = await db.query<(DeliveryGroup | { count: null }) & { total: number; read: number | null }>(
    `with d as materialized (${sourcesOf(filter).map(rowsOf).join(' union all ')})
     select groups.*, read
       from (select max(count)::integer as read from (select count(*) from d group by source) as sources) as read
       left join (
              select ${column('workspace_id')}, ${column('environment')}, ${column('webhook_id')}, ${column('status')},
                     count(*)::integer as count, (sum(count(*)) over ())::integer as total
                from d where $5::text[] is null or status = any($5)
               group by ${keys.join(', ')}
            ) as groups on true
      order by count desc, ${keys.map((name) => columnNames[name]).join(', ')} limit ${maxGroups}`,
    values,
  );
  return {
    groups: rows.flatMap(({ total: _, read: __, ...group }) => (group.count === null ? [] : [group as DeliveryGroup])),
    count: rows[0]?.total ?? 0,
    isMinimum: (rows[0]?.read ?? 0) >= maxCounted,
  };
}
