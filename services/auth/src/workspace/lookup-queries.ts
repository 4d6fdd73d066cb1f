import type { Queryable } from '@rms/db';
import { firstId, idTime, isId } from '@rms/ids';

/** Tables whose rows can be found by ID alone. */
const tables = {
  keys: 'auth.keys as t where t.id = $1',
  // Another service may have created the ID, and a request can be retried with it: it may be recorded a day later.
  requests: `auth.requests as t
              where t.request_id = $1
                and ($2::timestamptz is null or t.started_at between $2 - interval '1 hour' and $2 + interval '1 day')`,
};

/** Audit entries of a request whose ID contains its time. Audit IDs contain their time, in the same form. */
const changes = `select from audit.entries as t
                  where t.workspace_id = w.id and t.request_id = $1
                    and t.id >= $4 and t.id < $5 limit 1`;
const beforeMs = 60_000;
const afterMs = 3_600_000;

/**
 * Returns up to `limit` workspaces that have a key, a request or changes of a request with this ID, in ID order. Probes
 * the primary key once per workspace and environment (for a request, also per day, unless the ID contains its time). No
 * index has the ID without the workspace.
 */
export async function findOwners(db: Queryable, id: string, limit: number): Promise<string[]> {
  const isKey = id.startsWith('key_');
  const createdAt = isId('req', id) ? new Date(idTime(id)) : null;
  const { rows } = await db.query<{ id: string }>(
    `select id from auth.workspaces as w
      where exists (select from unnest(array['live', 'sandbox']) as e (environment)
                     cross join lateral (select from ${isKey ? tables.keys : tables.requests}
                                            and t.workspace_id = w.id and t.environment = e.environment limit 1) as found)
         ${createdAt ? `or exists (${changes})` : ''}
      order by id limit ${isKey ? '$2' : '$3'}`,
    isKey ? [id, limit] : [id, createdAt, limit, ...(createdAt ? auditRange(createdAt) : [])],
  );
  return rows.map((row) => row.id);
}

function auditRange(createdAt: Date): [from: string, to: string] {
  return [firstId('aud', createdAt.getTime() - beforeMs), firstId('aud', createdAt.getTime() + afterMs)];
}
