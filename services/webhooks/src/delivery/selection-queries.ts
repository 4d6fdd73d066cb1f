import type { TenantScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { Conditions, type LogSource, sourcesOf } from './log-filter.ts';
import { maxRedeliveries } from './redeliver-queries.ts';
import type { Replay, ReplayFilter } from './replay.ts';

/** Maximum number of rows that a count reads from the queue and from the log, each. A webhook can have millions. */
export const maxCounted = 10_000;

/** A number of deliveries. */
export interface ReplayCount {
  readonly count: number;
  /** Whether there may be more: counting stopped after {@link maxCounted} rows. */
  readonly isMinimum: boolean;
}

/**
 * Limits of a step: the number of deliveries, the total size of their attempts, and the rows that it reads of the queue
 * and of the log, each. They keep every step within its deadline.
 */
export const stepLimit = { deliveries: 1_000, bytes: 8 * 1024 * 1024, rows: 5_000 };

/** The next deliveries of a replay. */
interface NextIds {
  readonly ids: string[];
  /** The next step continues after this delivery. */
  readonly position: string;
  readonly isLast: boolean;
}

/** Returns the oldest deliveries that the replay has not sent yet, within {@link stepLimit}. */
export async function nextIds(tx: Queryable, replay: Replay, limit: number): Promise<NextIds> {
  const found: NextRow[] = [];
  /** Up to here, both tables have been read. undefined: both have been read to their ends. */
  let readUpTo: string | undefined;
  for (const source of sourcesOf(replay)) {
    const { rows, lastRead } = await readNext(tx, replay, source, limit + 1);
    found.push(...rows);
    if (lastRead !== undefined && (readUpTo === undefined || lastRead < readUpTo)) readUpTo = lastRead;
  }
  // A delivery that moves from the queue to the log between the statements is in both.
  const bytesOf = new Map(found.map(({ id, bytes }) => [id, bytes]));
  const inOrder = [...bytesOf]
    .filter(([id]) => readUpTo === undefined || id <= readUpTo)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const ids: string[] = [];
  let bytes = 0;
  for (const [id, size] of inOrder) {
    if (ids.length === limit || bytes >= stepLimit.bytes) break;
    ids.push(id);
    bytes += size;
  }
  const tookAll = ids.length === inOrder.length;
  const position = (tookAll ? readUpTo : undefined) ?? ids.at(-1) ?? replay.lastId;
  return { ids, position, isLast: tookAll && readUpTo === undefined };
}

interface NextRow {
  readonly id: string;
  readonly bytes: number;
}

/**
 * Reads up to `limit` deliveries of a table that the replay has not sent yet, in ID order. `lastRead` is the last row
 * that was read; undefined if `limit` rows were found, or if no rows remain.
 */
async function readNext(
  tx: Queryable,
  replay: Replay,
  source: LogSource,
  limit: number,
): Promise<{ rows: NextRow[]; lastRead: string | undefined }> {
  const scope = { workspaceId: replay.workspaceId, environments: [replay.environment] };
  const { indexed, indexedValues, others, values } = conditionsOf(scope, replay, source, replay.lastId);
  const range = `webhooks.${source} as d where ${indexed} order by d.id`;
  const { rows } = await tx.query<NextRow>(
    // The limits are subqueries, so that the planner does not know them and reads the index in order.
    `select d.id, pg_column_size(d.attempts) as bytes
       from (select d.* from ${range} limit (select ${stepLimit.rows})) as d
      where ${others} order by d.id limit (select $${values.length + 1}::integer)`,
    [...values, limit],
  );
  if (rows.length === limit) return { rows, lastRead: undefined };
  const { rows: ends } = await tx.query<{ id: string }>(
    `select d.id from ${range} offset (select ${stepLimit.rows - 1}) limit 1`,
    indexedValues,
  );
  return { rows, lastRead: ends[0]?.id };
}

/**
 * Returns the SQL conditions on deliveries `d` that a replay sends: those that an index evaluates in ID order, and the
 * others. `indexedValues` are the parameters of the former alone. The queue has no index of a webhook's deliveries in ID
 * order.
 */
export function conditionsOf(scope: TenantScope, filter: ReplayFilter, source: LogSource, after?: string) {
  const { webhookId, statuses, since, until } = filter;
  const isQueue = source === 'deliveries';
  const conditions = new Conditions(
    scope,
    { webhookId: isQueue ? undefined : webhookId, statuses, since, until },
    source,
  );
  if (after !== undefined) conditions.indexed.push(`d.id > ${conditions.placeholder(after)}`);
  const indexedValues = [...conditions.values];
  if (isQueue) conditions.others.push(`d.webhook_id = ${conditions.placeholder(webhookId)}`);
  conditions.addOthers({ statuses, test: false }, source);
  if (filter.eventTypes.length > 0)
    conditions.others.push(`event_type = any(${conditions.placeholder(filter.eventTypes)})`);
  const indexed = [
    // A single environment, compared by equality, lets an index return the deliveries in ID order.
    scope.environments.length === 1 ? 'd.environment = ($2::text[])[1]' : 'd.environment = any($2)',
    ...conditions.indexed,
  ].join(' and ');
  const others = [`d.redeliveries < ${maxRedeliveries}`, ...conditions.others].join(' and ');
  return { indexed, indexedValues, others, values: conditions.values };
}
