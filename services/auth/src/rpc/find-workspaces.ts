import { firstId, idTime, isId } from '@rms/base/ids';
import { findInPages, type ProbedPage, workspaceFinder } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { LookupService } from '@rms/proto/rms/auth/v1/lookup_service_pb';
import type { Handlers } from '@rms/rpc';
import type { HandlerParts } from './handler.ts';

/** Finds the workspaces that have a key or a request with an ID. */
export function findWorkspaces({ pool }: HandlerParts): Handlers<typeof LookupService>['findWorkspaces'] {
  return workspaceFinder((id, limit) => findOwners(pool, id, limit));
}

/**
 * A request in a workspace `w`. Another service may have created the ID, and a request can be retried with it later.
 */
const requests = `
  select from unnest(array['live', 'sandbox']) as e (environment)
   cross join lateral (
         select from auth.requests as t
          where t.workspace_id = w.id and t.environment = e.environment and t.request_id = $1
            and ($2::timestamptz is null or t.started_at between $2 - interval '1 hour' and $2 + interval '1 day')
          limit 1) as found`;

/** Audit entries of a request with an ID that contains its time. Audit IDs contain their time, in the same form. */
const changes = `
  select from audit.entries as t
   where t.workspace_id = w.id and t.request_id = $1 and t.id >= $5 and t.id < $6 limit 1`;
const beforeMs = 60_000;
const afterMs = 3_600_000;

/**
 * Returns up to `limit` workspaces that have a key, a request or changes of a request with this ID, in ID order. Keys
 * have an index of their IDs. For requests, which do not, every workspace is probed, page by page, and in all days, unless
 * the ID contains its time.
 */
async function findOwners(db: Queryable, id: string, limit: number): Promise<string[]> {
  if (id.startsWith('key_')) {
    const { rows } = await db.query<{ id: string }>(
      'select distinct workspace_id as id from auth.keys where id = $1 order by 1 limit $2',
      [id, limit],
    );
    return rows.map((row) => row.id);
  }
  const createdAt = isId('req', id) ? new Date(idTime(id)) : null;
  return findInPages<string>((after, size) => probe(db, { id, createdAt }, after, size), limit);
}

/** Probes up to `size` workspaces after `after`. */
async function probe(
  db: Queryable,
  { id, createdAt }: { readonly id: string; readonly createdAt: Date | null },
  after: string | undefined,
  size: number,
): Promise<ProbedPage<string>> {
  const range = createdAt ? auditRange(createdAt) : [];
  const { rows } = await db.query<{ last: string | null; probed: number; found: string[] }>(
    `with page as materialized (
       select id from auth.workspaces where id > $3 order by id limit $4
     )
     select max(id) as last, count(*)::integer as probed,
            array(select w.id from page as w
                   where exists (${requests}) ${createdAt ? `or exists (${changes})` : ''} order by w.id) as found
       from page`,
    [id, createdAt, after ?? '', size, ...range],
  );
  const { last = null, probed = 0, found = [] } = rows[0] ?? {};
  return { found, probed, last: last ?? undefined };
}

function auditRange(createdAt: Date): [from: string, to: string] {
  return [firstId('aud', createdAt.getTime() - beforeMs), firstId('aud', createdAt.getTime() + afterMs)];
}
