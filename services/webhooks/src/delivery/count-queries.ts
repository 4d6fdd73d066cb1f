import { firstId } from '@rms/base/ids';
import type { Environment } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { isTest, type LogFilter, type LoggedStatus, type LogSource, sourcesOf, statusOf } from './log-filter.ts';

/** Maximum number of rows that a count reads from the queue and from the log, each. */
export const maxCounted = 1_000_000;
const maxGroups = 1_000;

export type DeliveryGrouping = 'webhook' | 'status' | 'workspace';

/** Number of deliveries of a webhook, in a status, or of a workspace. The other fields are null. */
export interface DeliveryGroup {
  readonly workspaceId: string | null;
  readonly environment: Environment | null;
  readonly webhookId: string | null;
  readonly status: LoggedStatus | null;
  readonly count: number;
}

export interface DeliveryCounts {
  /** The largest groups, at most 1,000, the largest first. */
  readonly groups: readonly DeliveryGroup[];
  /** Number of deliveries in all groups. */
  readonly count: number;
  /** Whether there may be more: counting stopped after {@link maxCounted} rows. */
  readonly isMinimum: boolean;
}

/** Which deliveries to count, and by which property. */
export interface Counting {
  /** undefined: all workspaces. */
  readonly workspaceId: string | undefined;
  readonly environments: readonly Environment[];
  readonly groupBy: DeliveryGrouping;
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

const keyColumns: Readonly<Record<DeliveryGrouping, readonly GroupColumn[]>> = {
  webhook: ['workspace_id', 'environment', 'webhook_id'],
  status: ['status'],
  workspace: ['workspace_id'],
};

/** Counts deliveries in one statement, without test deliveries. Reads at most {@link maxCounted} rows of each table; the timeout bounds it too. */
export async function countDeliveries(db: Queryable, counting: Counting): Promise<DeliveryCounts> {
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
