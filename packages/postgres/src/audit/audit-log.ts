import type { FieldChange } from '@rms/base/audit-change';
import { RmsError, tryAgainIn } from '@rms/base/errors';
import { firstId, idTime, newId } from '@rms/base/ids';
import type { Environment } from '@rms/base/tenant';
import { actorOf, type RpcContext, userOfActor } from '@rms/rpc';
import { type PageStart, type Queryable, throttleTable } from '../db/index.ts';
import type { AuditedAction } from './audit-action.ts';
import { harmlessDetails, harmlessName } from './field-changes.ts';

/** The object of an action. */
export interface AuditTarget {
  /** ID of the object, or its name if it has no ID. Empty: unknown. */
  readonly id: string;
  /** Name when the action happened. Empty: the object has none. */
  readonly name: string;
}

/** An action to record in the audit log. */
export type NewAuditEntry = AuditedAction & {
  /** Empty for an action that concerns the whole installation. */
  readonly workspaceId: string;
  /** Unset for an action that concerns both environments. */
  readonly environment?: Environment | undefined;
  readonly target: AuditTarget;
};

/** The caller and the request that caused an action. */
export type AuditOrigin = Pick<RpcContext, 'actor' | 'actorName' | 'clientAddress' | 'requestId' | 'principal'>;

/** An entry of the audit log. */
export interface AuditEntry {
  /** "aud_…"; sorts by time. */
  readonly id: string;
  readonly createdAt: Date;
  readonly workspaceId: string;
  readonly environment: Environment | undefined;
  readonly actor: string;
  /** Email address of a user or name of a key, when the action happened. Empty: unknown, or the actor is a name. */
  readonly actorName: string;
  readonly address: string;
  readonly requestId: string;
  /** Noun and past participle: "key.created". */
  readonly action: string;
  readonly targetId: string;
  readonly targetName: string;
  /** Empty in entries of earlier releases. */
  readonly changes: readonly FieldChange[];
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Appends audit entries in the change's transaction, so that a change and its entry are committed together or not
 * at all. Skips entries with an empty list of changes: the request changed nothing. Throws `rate_limit_exceeded` if the
 * workspace makes audited changes too fast.
 * @param options.isPaced the caller has called takeAuditPace() for these entries
 * @param options.always runs the statement even without entries, so that its duration does not tell whether there are any
 */
export async function appendAudit(
  tx: Queryable,
  origin: AuditOrigin,
  given: readonly NewAuditEntry[],
  { isPaced = false, always = false }: { readonly isPaced?: boolean; readonly always?: boolean } = {},
): Promise<void> {
  const appended = given.filter(({ changes }) => changes === undefined || changes.length > 0);
  if (appended.length === 0 && !always) return;
  if (!isPaced) await takeAuditPace(tx, origin, appended);
  const entries = appended.map(({ workspaceId, environment, action, target, changes, details }) => ({
    workspace_id: workspaceId,
    environment: environment ?? '',
    id: newId('aud'),
    action,
    target_id: target.id,
    target_name: harmlessName(target.name),
    changes: changes ?? [],
    details: harmlessDetails(details ?? {}),
  }));
  await tx.query(
    `insert into audit.entries (workspace_id, environment, id, actor, actor_name, address, request_id, action, target_id,
                                target_name, changes, details)
     select workspace_id, environment, id, $2, $3, $4, $5, action, target_id, target_name, changes, details
       from jsonb_to_recordset($1) as entry (
              workspace_id text, environment text, id text, action text, target_id text, target_name text,
              changes jsonb, details jsonb
            )`,
    [JSON.stringify(entries), actorOf(origin), harmlessName(origin.actorName), origin.clientAddress, origin.requestId],
  );
}

/** Filter of a list; unset or empty fields match everything. */
export interface AuditFilter {
  readonly workspaceId: string;
  readonly targetId: string;
  /** Any of these targets. */
  readonly targetIds?: readonly string[];
  /** An exact action ("key.created"), or a prefix that ends with a dot ("key."). */
  readonly action: string;
  /** Matches entries of this environment, and entries that concern both. */
  readonly environment?: Environment | undefined;
  /** Leaves out the entries that concern both environments. */
  readonly ownEnvironmentOnly?: boolean;
  readonly actor?: string;
  /** Only entries of this request, which must have an ID that this service has created. */
  readonly requestId?: string;
  readonly since: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
  readonly start: PageStart | undefined;
  readonly limit: number;
}

interface EntryRow {
  workspace_id: string;
  environment: '' | Environment;
  id: string;
  created_at: Date;
  actor: string;
  actor_name: string;
  address: string;
  request_id: string;
  action: string;
  target_id: string;
  target_name: string;
  changes: FieldChange[];
  details: Record<string, unknown>;
}

/** Maximum number of entries that a list reads. Bounds a filter's cost if few entries match. */
const maxRowsRead = 10_000;

/** An entry is written while its request runs. Margins for differences between clocks. */
const beforeRequestMs = 60_000;
const afterRequestMs = 3_600_000;

/** Returns bounds for the IDs of a request's entries: the first, and the first that is too late. */
function boundsOf(requestId: string): [first: string | null, end: string | null] {
  if (requestId === '') return [null, null];
  const atMs = idTime(requestId);
  return [firstId('aud', atMs - beforeRequestMs), firstId('aud', atMs + afterRequestMs)];
}

/**
 * Selects entries of a workspace and of targets after or before an entry; uses parameters 1 to 6. Callers append
 * their row limits as subqueries: the planner does not know the values of subqueries, so it reads the index in order
 * instead of sorting the log.
 */
function inOrder(start: PageStart | undefined): string {
  const backwards = start?.direction === 'before';
  return `
         from audit.entries
        where workspace_id = $1
          and ($2 = '' or target_id = $2)
          and (cardinality($3::text[]) = 0 or target_id = any($3))
          and ($4::text is null or id ${backwards ? '>' : '<'} $4)
          and ($5::text is null or id >= $5)
          and ($6::text is null or id < $6)
        order by id ${backwards ? 'asc' : 'desc'}`;
}

/**
 * Lists entries, newest first. A list of fewer than `limit` entries is complete only if {@link lastAuditRead} returns
 * undefined in the same snapshot.
 */
export async function listAudit(db: Queryable, filter: AuditFilter): Promise<AuditEntry[]> {
  const { workspaceId, targetId, targetIds = [], action, environment, actor, since, until, start, limit } = filter;
  const { requestId = '' } = filter;
  const backwards = start?.direction === 'before';
  const result = await db.query<EntryRow>(
    `select * from (
       select workspace_id, environment, id, created_at, actor, actor_name, address, request_id,
              -- Earlier versions wrote 'cancelled'.
              case action when 'replay.cancelled' then 'replay.canceled' else action end as action,
              target_id, target_name, changes, details
         ${inOrder(start)} limit (select ${maxRowsRead})
     ) as read
      where ($7 = '' or action = $7 or (right($7, 1) = '.' and starts_with(action, $7)))
        and ($8::timestamptz is null or created_at >= $8)
        and ($9::timestamptz is null or created_at < $9)
        and ($10 = '' or environment in ($10, ''))
        and (not $13::boolean or environment <> '')
        and ($11 = '' or actor = $11)
        and ($14 = '' or request_id = $14)
      order by id ${backwards ? 'asc' : 'desc'} limit $12`,
    [
      ...[workspaceId, targetId, targetIds, start?.keys[0] ?? null, ...boundsOf(requestId)],
      ...[
        action,
        since ?? null,
        until ?? null,
        environment ?? '',
        actor ?? '',
        limit,
        filter.ownEnvironmentOnly ?? false,
        requestId,
      ],
    ],
  );
  const rows = backwards ? result.rows.reverse() : result.rows;
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    environment: row.environment === '' ? undefined : row.environment,
    id: row.id,
    createdAt: row.created_at,
    actor: row.actor,
    actorName: row.actor_name,
    address: row.address,
    requestId: row.request_id,
    action: row.action,
    targetId: row.target_id,
    targetName: row.target_name,
    changes: row.changes,
    details: row.details,
  }));
}

/** Returns the last ID that {@link listAudit} reads; undefined if it reads all entries. */
export async function lastAuditRead(
  db: Queryable,
  { workspaceId, targetId, targetIds = [], requestId = '', start }: AuditFilter,
): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>(
    `select id ${inOrder(start)} offset (select ${maxRowsRead - 1}) limit 1`,
    [workspaceId, targetId, targetIds, start?.keys[0] ?? null, ...boundsOf(requestId)],
  );
  return rows[0]?.id;
}

export const auditThrottles = throttleTable('audit.throttles');

/** Audited changes per workspace. An entry takes up to 10 KB and is kept; at this pace, 1.5 GB a month per workspace. */
const pace = { burst: 5_000, everySeconds: 10 };

/**
 * Counts an audited change by a user or an API key. Throws `rate_limit_exceeded`. Operators have no limit. Not counted:
 * changes that concern both environments (sign-ins, users and members), which have limits of their own, and the end of an
 * object, such as a key's revocation, which must always be possible and happens once per object.
 */
export async function takeAuditPace(
  db: Queryable,
  { actor, principal }: Pick<AuditOrigin, 'actor' | 'principal'>,
  entries: readonly Pick<NewAuditEntry, 'workspaceId' | 'environment' | 'action'>[],
): Promise<void> {
  const isPaced = userOfActor(actor) !== undefined || (actor === '' && principal !== undefined);
  if (!isPaced) return;
  const counted = entries.filter(
    ({ environment, action }) => environment !== undefined && !/\.(?:deleted|revoked)$/.test(action),
  );
  for (const workspaceId of new Set(counted.map((entry) => entry.workspaceId))) {
    const retryAfterSeconds = await auditThrottles.take(db, Buffer.from(workspaceId), pace);
    if (retryAfterSeconds === 0) continue;
    throw new RmsError('rate_limit_exceeded', {
      message: `Too many changes in this workspace. ${tryAgainIn(retryAfterSeconds)}`,
      retryAfterSeconds,
    });
  }
}
