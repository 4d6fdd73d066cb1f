import type { Environment, Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { Channel, ChannelType } from './channel.ts';

export interface ChannelRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  type: ChannelType;
  name: string;
  addresses: string[];
  url: string;
  secret: Buffer | null;
  hint: string;
  version: string;
  created_at: Date;
  updated_at: Date;
}

export function toChannel(row: ChannelRow): Channel {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    type: row.type,
    name: row.name,
    addresses: row.addresses,
    url: row.url,
    secret: row.secret ?? undefined,
    hint: row.hint,
    version: Number(row.version),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Returns the channels with these IDs that exist. */
export async function readChannels(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  ids: readonly string[],
): Promise<Channel[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.query<ChannelRow>(
    'select * from alerts.channels where workspace_id = $1 and environment = $2 and id = any($3::text[]) order by id',
    [workspaceId, environment, ids],
  );
  return rows.map(toChannel);
}

/** Returns a channel; undefined if it does not exist. `lock` locks it until the transaction ends. */
export async function findChannel(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  id: string,
  lock?: 'lock',
): Promise<Channel | undefined> {
  const { rows } = await db.query<ChannelRow>(
    `select * from alerts.channels
      where workspace_id = $1 and environment = $2 and id = $3 ${lock ? 'for update' : ''}`,
    [workspaceId, environment, id],
  );
  return rows[0] && toChannel(rows[0]);
}

/** Inserts a channel, or replaces the fields that can change. */
export async function writeChannel(tx: Queryable, channel: Channel): Promise<void> {
  await tx.query(
    `insert into alerts.channels
            (workspace_id, environment, id, type, name, addresses, url, secret, hint, version, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         on conflict (workspace_id, environment, id) do update
        set name = excluded.name, addresses = excluded.addresses, url = excluded.url, secret = excluded.secret,
            hint = excluded.hint, version = excluded.version, updated_at = excluded.updated_at`,
    [
      channel.workspaceId,
      channel.environment,
      channel.id,
      channel.type,
      channel.name,
      channel.addresses,
      channel.url,
      channel.secret ?? null,
      channel.hint,
      channel.version,
      channel.createdAt,
      channel.updatedAt,
    ],
  );
}

/** Returns the number of channels of a tenant. */
export async function countChannels(db: Queryable, { workspaceId, environment }: Tenant): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from alerts.channels where workspace_id = $1 and environment = $2',
    [workspaceId, environment],
  );
  return rows[0]?.count ?? 0;
}
