import type { Queryable } from '@rms/db';
import type { Workspace } from './workspace.ts';

/** Stores a new workspace. */
export async function insertWorkspace(db: Queryable, { id, name, createdAt }: Workspace): Promise<void> {
  await db.query('insert into auth.workspaces (id, name, created_at) values ($1, $2, $3)', [id, name, createdAt]);
}

/** All workspaces, oldest first. */
export async function listAllWorkspaces(db: Queryable): Promise<Workspace[]> {
  const { rows } = await db.query<Workspace>(
    'select id, name, created_at as "createdAt" from auth.workspaces order by id',
  );
  return rows;
}

export async function workspaceExists(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query('select 1 from auth.workspaces where id = $1', [id]);
  return rowCount === 1;
}

/** Lets one transaction at a time find out whether there is a workspace yet. */
export async function lockBootstrap(tx: Queryable): Promise<void> {
  await tx.query('lock table auth.workspaces in share row exclusive mode');
}
