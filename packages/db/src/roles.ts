import type { PoolClient } from './queryable.ts';

/** The services that have a role of their own in the database. */
export type ServiceRole = 'auth' | 'resources' | 'webhooks' | 'alerts';

/** What a service may do with the tables of a schema: privileges as GRANT names them. */
export type Grants = Readonly<Partial<Record<ServiceRole, string>>>;

/** The name of a service's role in PostgreSQL. */
export function roleName(prefix: string, service: ServiceRole): string {
  return `${prefix}_${service}`;
}

const roles: readonly ServiceRole[] = ['auth', 'resources', 'webhooks', 'alerts'];

/**
 * Makes the services' roles where they are missing, and lets the login of this connection take them on. They cannot log
 * in by themselves: a login becomes a member of one.
 */
export async function ensureRoles(client: PoolClient, prefix: string): Promise<void> {
  for (const service of roles) {
    const name = roleName(prefix, service);
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [name]);
    if (rowCount === 0) await createRole(client, name);
    const { rows } = await client.query<{ member: boolean }>(`select pg_has_role($1, 'MEMBER') as member`, [name]);
    if (!rows[0]?.member) await client.query(`grant ${name} to current_user`);
  }
}

/** Roles belong to all databases of a server, so that another one's migration may make the same at the same time. */
async function createRole(client: PoolClient, name: string): Promise<void> {
  try {
    await client.query(`create role ${name} nologin`);
  } catch (error) {
    const { code } = error as { code?: string };
    // 42710: it exists by now; 23505: it came into being at this moment.
    if (code === '42710' || code === '23505') return;
    if (code !== '42501') throw error;
    throw new Error(
      `this login may not create the role ${name}: let one that may (CREATEROLE) run the migration once, or set ` +
        'DATABASE_ROLE_PREFIX to "none"',
      { cause: error },
    );
  }
}

/** Lets each service do in a schema what it has to, and nothing else. */
export async function applyGrants(client: PoolClient, prefix: string, schema: string, grants: Grants): Promise<void> {
  await client.query('begin');
  try {
    for (const service of roles) {
      const name = roleName(prefix, service);
      await client.query(`revoke all on all tables in schema ${schema} from ${name}`);
      await client.query(`revoke all on schema ${schema} from ${name}`);
      const privileges = grants[service];
      if (privileges === undefined) continue;
      await client.query(`grant usage on schema ${schema} to ${name}`);
      await client.query(`grant ${privileges} on all tables in schema ${schema} to ${name}`);
      await client.query(`revoke all on ${schema}.migrations from ${name}`);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
