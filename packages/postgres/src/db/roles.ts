import type { PoolClient } from './statements.ts';

/** Services with their own database role. */
export type ServiceRole = 'auth' | 'resources' | 'webhooks' | 'alerts';

/** Privileges of each service, as named by GRANT: on all tables of a schema, or by table. */
export type Grants = Readonly<Partial<Record<ServiceRole, string | Readonly<Record<string, string>>>>>;

/** Returns a service's role name in PostgreSQL. */
export function roleName(prefix: string, service: ServiceRole): string {
  return `${prefix}_${service}`;
}

const roles: readonly ServiceRole[] = ['auth', 'resources', 'webhooks', 'alerts'];

/** From PostgreSQL 16 on, a role's creator is its member, but may not assume it. */
const maySetRole = `case when current_setting('server_version_num')::integer < 160000
  then pg_has_role($1::text, 'MEMBER') else pg_has_role($1::text, 'SET') end`;

/**
 * Creates the missing roles of the services, and makes the login of this connection a member of every role. The roles
 * themselves cannot log in.
 */
export async function ensureRoles(client: PoolClient, prefix: string): Promise<void> {
  for (const service of roles) {
    const name = roleName(prefix, service);
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [name]);
    if (rowCount === 0) await createRole(client, name);
    const { rows } = await client.query<{ may: boolean }>(`select ${maySetRole} as may`, [name]);
    if (!rows[0]?.may) await client.query(`grant ${name} to current_user`);
  }
}

/**
 * Creates a role. Roles are shared by all databases of a server, so a migration of another database may create the same
 * role concurrently.
 */
async function createRole(client: PoolClient, name: string): Promise<void> {
  try {
    await client.query(`create role ${name} nologin`);
  } catch (error) {
    const { code } = error as { code?: string };
    // 42710: the role exists; 23505: it was created concurrently.
    if (code === '42710' || code === '23505') return;
    if (code !== '42501') throw error;
    throw new Error(
      `this login may not create the role ${name}: run the migration once with a login that has CREATEROLE, or set ` +
        'DATABASE_ROLE_PREFIX to "none"',
      { cause: error },
    );
  }
}

/** Grants each service exactly the privileges in `grants` on a schema. */
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
      const byTable =
        typeof privileges === 'string'
          ? { [`all tables in schema ${schema}`]: privileges }
          : tablesOf(schema, privileges);
      for (const [tables, granted] of Object.entries(byTable)) {
        await client.query(`grant ${granted} on ${tables} to ${name}`);
      }
      await client.query(`revoke all on ${schema}.migrations from ${name}`);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

function tablesOf(schema: string, privileges: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(privileges).map(([table, granted]) => [`${schema}.${table}`, granted]));
}
