import { createHash } from 'node:crypto';
import { isId } from '@rms/base/ids';
import { type Environment, environmentOf, type Tenant } from '@rms/base/tenant';
import type { ConsumedRecord } from '@rms/bus';
import { deleteInBatches, type Queryable, type Statement, statementWith } from '@rms/postgres/db';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';
import { tenantsOf } from '../tenants-of.ts';
import type { DeadLetter, DeadReason } from './decode.ts';
import { type HandledRange, positionCtes, positionValues } from './position-queries.ts';

/** A dead letter's tenant; both are empty if the record does not contain a valid tenant. */
export interface LetterTenant {
  readonly workspaceId: string;
  readonly environment: Environment | '';
}

/** A stored dead letter. */
export interface StoredLetter {
  /** Sorts by arrival. */
  readonly id: string;
  readonly tenant: LetterTenant;
  readonly topic: string;
  readonly record: ConsumedRecord;
  readonly parked: boolean;
  readonly reason: DeadReason;
  readonly error: string;
  readonly storedAt: Date;
}

const errorLimit = 500;

/** Returns the tenant of an event, if it is valid. */
export function letterTenantOf(event: ResourceEvent | undefined): LetterTenant {
  const environment = event && environmentOf(event.environment);
  if (!event || !environment || !isId('ws', event.workspaceId)) return { workspaceId: '', environment: '' };
  return { workspaceId: event.workspaceId, environment };
}

const insertLetters = statementWith(
  'dead-letters-insert',
  `
    with ${positionCtes()}, inserted as (
    insert into webhooks.dead_letters (workspace_id, environment, digest, topic, bus_partition, bus_offset, key,
                                       value, headers, parked, reason, error)
    select workspace_id, environment, digest, $topic::text, bus_partition, bus_offset, key, value, headers, reason = 'failed',
           reason, error
      from unnest($workspaceIds::text[], $environments::text[], $digests::bytea[], $busPartitions::integer[],
                  $busOffsets::bigint[], $keys::bytea[], $values::bytea[], $headers::json[], $reasons::text[],
                  $errors::text[]) with ordinality
        as r (workspace_id, environment, digest, bus_partition, bus_offset, key, value, headers, reason, error,
              ordinal)
     where bus_partition not in (select bus_partition from behind)
     order by ordinal
        on conflict (workspace_id, environment, digest) do nothing
    returning workspace_id as "workspaceId", environment, reason, error, bus_partition as partition,
              bus_offset::text as "offset"
    )
    select (select array_agg(bus_partition) from behind) as behind,
           (select jsonb_agg(to_jsonb(inserted)) from inserted) as inserted`,
);

/**
 * Inserts a topic's records in order, and advances the positions of `ranges` in the same commit; see
 * {@link positionCtes}. Skips records that are stored already, and records of partitions that are behind. The statement
 * uses no other tables. Returns one {@link InsertedRow}.
 */
export function insertingLetters(
  topic: string,
  letters: readonly DeadLetter[],
  ranges: readonly HandledRange[] = [],
): Statement {
  const tenants = letters.map(({ event }) => letterTenantOf(event));
  const keys = letters.map(({ record }) => Buffer.from(record.key));
  return insertLetters({
    workspaceIds: tenants.map(({ workspaceId }) => workspaceId),
    environments: tenants.map(({ environment }) => environment),
    digests: letters.map(({ record }, i) => digestOf(topic, record, keys[i] as Buffer)),
    busPartitions: letters.map(({ record }) => record.partition),
    busOffsets: letters.map(({ record }) => record.offset),
    keys,
    values: letters.map(({ record: { value } }) => Buffer.from(value.buffer, value.byteOffset, value.byteLength)),
    headers: letters.map(({ record }) => JSON.stringify(record.headers)),
    reasons: letters.map(({ reason }) => reason),
    errors: letters.map(({ detail }) => toErrorText(detail)),
    ...positionValues({ topic, ranges }),
  });
}

/** Result of {@link insertingLetters}. */
export interface InsertedRow {
  /** Partitions with a position before their range; null without any. */
  readonly behind: number[] | null;
  readonly inserted: InsertedLetter[] | null;
}

/** A dead letter that was inserted. */
export interface InsertedLetter extends LetterTenant {
  readonly reason: DeadReason;
  readonly error: string;
  readonly partition: number;
  readonly offset: string;
}

function digestOf(topic: string, { partition, value }: ConsumedRecord, key: Buffer): Buffer {
  const place = JSON.stringify([topic, partition, key.length]);
  return createHash('sha256').update(place).update(key).update(value).digest();
}

/** Shortens an error, and replaces the character that PostgreSQL cannot store. */
function toErrorText(error: string): string {
  return error.slice(0, errorLimit).replaceAll('\0', '\ufffd').toWellFormed();
}

/** Returns the table's size with its indexes, in bytes. */
export async function readLetterBytes(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ bytes: string }>({
    name: 'dead-letters-bytes',
    text: "select pg_total_relation_size('webhooks.dead_letters') as bytes",
  });
  return Number(rows[0]?.bytes);
}

const maxCounted = 10_000;

/** Returns the numbers of parked and of other dead letters, up to {@link maxCounted}, and the table's size. */
export async function countLetters(db: Queryable): Promise<{ parked: number; kept: number; bytes: number }> {
  const { rows } = await db.query<{ parked: number; kept: number; bytes: string }>(
    `select (select count(*) from (select from webhooks.dead_letters where parked
                                    order by workspace_id, environment, id limit $1) as l)::integer as parked,
            (select count(*) from (select from webhooks.dead_letters where not parked
                                    order by stored_at limit $1) as l)::integer as kept,
            pg_total_relation_size('webhooks.dead_letters') as bytes`,
    [maxCounted],
  );
  const { parked = 0, kept = 0, bytes = '0' } = rows[0] ?? {};
  return { parked, kept, bytes: Number(bytes) };
}

/** Reads the tenants that have parked records. */
export async function readParkedTenants(db: Queryable): Promise<LetterTenant[]> {
  const { rows } = await db.query<LetterTenant>({
    name: 'dead-letters-tenants',
    text: `
      with recursive ${tenantsOf('webhooks.dead_letters', 'parked')}
      select workspace_id as "workspaceId", environment from tenants`,
  });
  return rows;
}

/** Returns the given tenants that have parked records. */
export async function filterParked(db: Queryable, tenants: readonly Tenant[]): Promise<Tenant[]> {
  const { rows } = await db.query<Tenant>({
    name: 'dead-letters-filter',
    text: `
      select t.workspace_id as "workspaceId", t.environment
        from (select distinct * from unnest($1::text[], $2::text[]) as t (workspace_id, environment)) as t
       where exists (select from webhooks.dead_letters as l
                      where l.parked and l.workspace_id = t.workspace_id and l.environment = t.environment)`,
    values: [tenants.map(({ workspaceId }) => workspaceId), tenants.map(({ environment }) => environment)],
  });
  return rows;
}

interface LetterRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly environment: Environment | '';
  readonly topic: string;
  readonly bus_partition: number;
  readonly bus_offset: string;
  readonly key: Buffer;
  readonly value: Buffer;
  readonly headers: Record<string, string>;
  readonly parked: boolean;
  readonly reason: DeadReason;
  readonly error: string;
  readonly stored_at: Date;
}

const columns = `id, workspace_id, environment, topic, bus_partition, bus_offset, key, value, headers, parked, reason,
                 error, stored_at`;

/** Selects the first rows of `page` by ID, up to `$1` bytes of values, but at least one. */
const firstWithin = (page: string) => `
      select ${columns}, total
        from (select l.*, count(*) over ()::integer as total,
                     sum(octet_length(value)) over (order by id) - octet_length(value) as bytes_before
                from (${page}) as l) as l
       where bytes_before < $1 order by id`;

/** Reads the first parked records of a tenant, up to `bytes` of values, but at least one. */
export async function readParked(
  tx: Queryable,
  { workspaceId, environment }: LetterTenant,
  { limit, bytes }: { readonly limit: number; readonly bytes: number },
): Promise<StoredLetter[]> {
  const { rows } = await tx.query<LetterRow>({
    name: 'dead-letters-parked',
    text: firstWithin(`select * from webhooks.dead_letters
                        where parked and workspace_id = $2 and environment = $3 order by id limit $4`),
    values: [bytes, workspaceId, environment, limit],
  });
  return rows.map(toLetter);
}

/**
 * Reads dead letters of a workspace, or all, in the order of their IDs, up to `bytes` of values, but at least one.
 * `hasMore` is true if others may follow.
 */
export async function listLetters(
  db: Queryable,
  {
    workspaceId,
    after,
    limit,
    bytes,
  }: {
    readonly workspaceId: string | undefined;
    readonly after: string;
    readonly limit: number;
    readonly bytes: number;
  },
): Promise<{ letters: StoredLetter[]; hasMore: boolean }> {
  const page =
    workspaceId === undefined
      ? 'select * from webhooks.dead_letters where id > $2 order by id limit $3'
      : // A range of the primary key: with equalities, the planner may read the IDs of all tenants in order.
        `select l.* from unnest(array['live', 'sandbox'] collate "C") as e (environment)
          cross join lateral (select * from webhooks.dead_letters
                               where (workspace_id, environment, id) > ($4, e.environment, $2)
                                 and (workspace_id, environment) <= ($4, e.environment)
                               order by workspace_id, environment, id limit $3) as l
          order by l.id limit $3`;
  const { rows } = await db.query<LetterRow & { total: number }>(firstWithin(page), [
    bytes,
    after,
    limit,
    ...(workspaceId === undefined ? [] : [workspaceId]),
  ]);
  const total = rows[0]?.total ?? 0;
  return { letters: rows.map(toLetter), hasMore: total > rows.length || total === limit };
}

function toLetter(row: LetterRow): StoredLetter {
  const { key, value, headers } = row;
  return {
    id: row.id,
    tenant: { workspaceId: row.workspace_id, environment: row.environment },
    topic: row.topic,
    record: { key: key.toString(), value, headers, partition: row.bus_partition, offset: row.bus_offset },
    parked: row.parked,
    reason: row.reason,
    error: row.error,
    storedAt: row.stored_at,
  };
}

const ofTenant = 'workspace_id = $1 and environment = $2';

/** Deletes dead letters of a tenant. */
export async function deleteLetters(
  tx: Queryable,
  { workspaceId, environment }: LetterTenant,
  ids: readonly string[],
): Promise<void> {
  await tx.query({
    name: 'dead-letters-delete',
    text: `delete from webhooks.dead_letters where ${ofTenant} and id = any($3::bigint[])`,
    values: [workspaceId, environment, ids],
  });
}

/** Ends retrying a tenant's parked record, which cannot become an event. */
export async function refuseLetter(
  tx: Queryable,
  { workspaceId, environment }: LetterTenant,
  id: string,
  { reason, detail }: Pick<DeadLetter, 'reason' | 'detail'>,
): Promise<void> {
  await tx.query({
    name: 'dead-letters-refuse',
    text: `update webhooks.dead_letters set parked = false, reason = $4, error = $5 where ${ofTenant} and id = $3`,
    values: [workspaceId, environment, id, reason, toErrorText(detail)],
  });
}

/** Moves a dead letter to the tenant of its event, which an earlier version could not read. */
export async function moveLetter(tx: Queryable, from: LetterTenant, id: string, to: LetterTenant): Promise<void> {
  await tx.query({
    name: 'dead-letters-move',
    text: `
      with moved as (delete from webhooks.dead_letters where ${ofTenant} and id = $3 returning *)
      insert into webhooks.dead_letters (workspace_id, environment, id, digest, topic, bus_partition, bus_offset, key,
                                         value, headers, parked, reason, error, stored_at)
      overriding system value
      select $4, $5, id, digest, topic, bus_partition, bus_offset, key, value, headers, parked, reason, error, stored_at
        from moved
          on conflict (workspace_id, environment, digest) do nothing`,
    values: [from.workspaceId, from.environment, id, to.workspaceId, to.environment],
  });
}

/** Which dead letters to park. */
export type LetterSelection =
  | { readonly ids: readonly string[] }
  | { readonly workspaceId: string }
  | { readonly all: true };

/** Deletes the dead letters that are not parked and older than the retention. Returns their number. */
export function deleteExpiredLetters(db: Queryable, retentionDays: number, signal: AbortSignal): Promise<number> {
  return deleteInBatches(
    db,
    'webhooks.dead_letters',
    {
      where: "not parked and stored_at < webhooks.agreed_now() - $1 * interval '1 day'",
      values: [retentionDays],
      order: 'stored_at',
    },
    signal,
  );
}
