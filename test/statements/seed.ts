import { firstId, type IdPrefix } from '@rms/base/ids';
import { disposable } from '@rms/testkit';
import pg from 'pg';

/** Rows per table. */
export const rowsPerTable = 100_000;
/**
 * Rows of tables that stay small: only operators create plans, a few instances run, and a topic has few partitions.
 * Tables with a column `single` have one row; the one of `feed_epoch` exists.
 */
const smallTables: Readonly<Record<string, number>> = {
  plans: 100,
  instances: 10,
  positions: 64,
  losses: 100,
  clock: 1,
  feed_epoch: 0,
};
/** Rows of each table that belong to {@link bigWorkspace}; the others belong to a thousand workspaces. */
const rowsOfBigWorkspace = 50_000;

interface Column {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  /** Allowed values, from a check constraint. */
  readonly allowed: readonly string[];
  /** Whether a unique index contains it. */
  readonly unique: boolean;
}

interface Table {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly Column[];
}

const dayMs = 86_400_000;
/** Time from the first to the last event or delivery. */
const spanMs = (2 * rowsPerTable + 1) * 10;
/**
 * Creation time of event and delivery 0. Each following row is created 10 ms later, the last row at the current time,
 * or at midnight UTC if midnight was less than `spanMs` ago. All rows are therefore in the past and in a single
 * partition.
 */
const firstAtMs = Math.min(Date.now(), Math.floor((Date.now() - spanMs) / dayMs) * dayMs + dayMs) - spanMs;

/**
 * Returns the seeded row's ID with this number. Row 1 of every table belongs to the big workspace. IDs of events
 * and deliveries begin with their time.
 */
export function seededId(prefix: IdPrefix, number: number): string {
  const digits = String(number).padStart(26, '0');
  if (prefix !== 'evt' && prefix !== 'dlv') return `${prefix}_${digits}`;
  return firstId(prefix, firstAtMs + number * 10) + digits.slice(10);
}

export const bigWorkspace = seededId('ws', 0);
/** Half of the big workspace's rows refer to it. */
export const bigWebhook = seededId('wh', 1);

/**
 * Tables that have a thousand rows per workspace, because a limit or their use keeps them small. The others have
 * {@link rowsOfBigWorkspace} rows of the big workspace.
 */
const fewPerWorkspace = new Set([
  'auth.invitations',
  'auth.keys',
  'auth.memberships',
  'auth.portal_sessions',
  'alerts.channels',
  'alerts.disabled_webhooks',
  'alerts.expiring_keys',
  'alerts.reported_conditions',
  'alerts.unsubscribed',
  'alerts.webhook_runs',
  'webhooks.endpoints',
  'webhooks.replays',
  'webhooks.webhooks',
]);

/** Tables with IDs that begin with a time, because the tables are partitioned by it. */
const timedIds = new Set(['webhooks.events', 'webhooks.delivery_log', 'webhooks.deliveries']);

/** SQL expressions for row `g`, for columns that the rules of expressionOf() do not apply to. */
const special: Readonly<Record<string, string>> = {
  // One row per tenant.
  'alerts.deleted_workspaces.workspace_id': tenant('g - 1'),
  'auth.deleted_workspaces.workspace_id': tenant('g - 1'),
  'resources.deleted_workspaces.workspace_id': tenant('g - 1'),
  'webhooks.deleted_workspaces.workspace_id': tenant('g - 1'),
  'webhooks.feeds.workspace_id': tenant('g'),
  'webhooks.test_counts.workspace_id': tenant('g - 1'),
  // One incident in a hundred is open.
  'alerts.incidents.state': `case when g % 100 = 0 then 'open' else 'recovered' end`,
  'alerts.incidents.closed_at': `case when g % 100 = 0 then null else now() - g * interval '5 minutes' end`,
  'auth.keys.scope': `'read'`,
  'auth.email_requests.leased_until': `'-infinity'`,
  'alerts.outside_recipients.asked_at': `now() - g * interval '1 second'`,
  'auth.request_counts.workspace_id': tenant('g - 1'),
  // The values that services/auth/test/request filters by are frequent: every filter must stop reading early.
  'auth.requests.method': `case when g % 10 = 0 then 'POST' else 'GET' end`,
  'auth.requests.route': `case when g % 2 = 0 then '/v1/resources' else '/v1/resources/:id' end`,
  'auth.requests.status': 'case when g % 3 = 0 then 404 when g % 3 = 1 then 503 else 200 end',
  'auth.requests.error_code': `case when g % 3 = 0 then 'not_found' when g % 3 = 1 then 'rate_limit_exceeded' else '' end`,
  'auth.requests.key_id': `case when g % 2 = 0 then 'key_1' else 'key_2' end`,
  'auth.requests.client_address': `'2001:db8::1'`,
  'auth.requests.actor': `case when g % 2 = 0 then 'user:' || ${id('usr', '1')} else '' end`,
  'auth.plans.name': `'plan_' || g`,
  'auth.workspaces.id': tenant('g - 1'),
  'alerts.evaluations.workspace_id': tenant('g - 1'),
  'alerts.rules.workspace_id': tenant('g - 1'),
  'resources.resource_counts.workspace_id': tenant('g / 30'),
  'resources.resource_counts.status': `'status_' || g % 30`,
  'webhooks.attempt_counts.slot': 'g % 20',
  'resources.resource_counts.shard': 'g % 16',
  'webhooks.attempt_counts.workspace_id': tenant('g / 20 / 1000'),
  'webhooks.attempt_counts.webhook_id': id('wh', 'g / 20'),
  // One in a thousand queued deliveries is due; the others are due later.
  'webhooks.deliveries.due_at': `now() + case when g % 1000 = 0 then interval '-1 second' else g * interval '1 second' end`,
  // One in a thousand webhooks is due, one in five hundred has an open circuit, one in a thousand has a rate limit.
  'webhooks.endpoints.webhook_id': id('wh', 'g'),
  'webhooks.endpoints.next_due_at': `now() + case when g % 1000 = 0 then interval '-1 second' else g * interval '1 second' end`,
  'webhooks.endpoints.not_before': 'null',
  'webhooks.endpoints.pause_ms': 'case when g % 500 = 0 then 500 else 0 end',
  'webhooks.endpoints.concurrency': 'null',
  'webhooks.endpoints.rate_at': 'null',
  'webhooks.webhooks.max_concurrency': '32',
  'webhooks.webhooks.timeout_ms': '10000',
  'webhooks.webhooks.requests_per_second': 'case when g % 1000 = 0 then 10 end',
  'webhooks.events.position': 'g',
  'webhooks.events.type': `('{resource.created,resource.updated,resource.deleted,resource.status_changed}'::text[])[g % 4 + 1]`,
  // These IDs are not in the log, so that a delivery can move to the log.
  'webhooks.deliveries.id': timedId('dlv', `g + ${rowsPerTable}`),
  'webhooks.deliveries.event_id': timedId('evt'),
  'webhooks.delivery_log.event_id': timedId('evt'),
  'webhooks.events.resource_id': id('res', 'g / 5'),
  'outbox.events.partition': 'g % 16',
};

function id(prefix: string, number: string): string {
  return `'${prefix}_' || lpad((${number})::text, 26, '0')`;
}

function tenant(number: string): string {
  return id('ws', number);
}

function timedId(prefix: string, number = 'g'): string {
  return `webhooks.first_id('${prefix}', ${timeOfNumber(number)}) || lpad((${number})::text, 16, '0')`;
}

/** Fills every table that the services own with {@link rowsPerTable} rows, and collects statistics. */
export async function seed(url: string): Promise<void> {
  // A client has no timeouts, unlike a pool.
  await using client = disposable(new pg.Client(url));
  await client.connect();
  // ANALYZE samples 300 rows per unit of this target, here every row, so that all runs have the same statistics.
  await client.query('set default_statistics_target = 400');
  // Disables foreign keys and triggers.
  await client.query('set session_replication_role = replica');
  for (const table of await readTables(client)) {
    const rows = smallTables[table.name] ?? rowsPerTable;
    const names = table.columns.map(({ name }) => `"${name}"`).join(', ');
    const expressions = table.columns.map((column) => expressionOf(table, column)).join(', ');
    const { rowCount } = await client.query(
      `insert into ${table.schema}.${table.name} (${names}) overriding system value
         select ${expressions} from generate_series(1, ${rows}) as g on conflict do nothing`,
    );
    if ((rowCount ?? 0) < rows * 0.9) throw new Error(`${table.schema}.${table.name} has only ${rowCount} rows`);
    await client.query(`vacuum analyze ${table.schema}.${table.name}`);
  }
}

function expressionOf({ schema, name: table }: Table, column: Column): string {
  const { name, type, allowed, unique, nullable } = column;
  const given = special[`${schema}.${table}.${name}`];
  if (given !== undefined) return given;
  if (table === 'clock' && name === 'single') return 'true';
  if (name === 'workspace_id' && fewPerWorkspace.has(`${schema}.${table}`)) return tenant('g / 1000');
  if (name === 'workspace_id')
    return `case when g <= ${rowsOfBigWorkspace} then '${bigWorkspace}' else ${tenant('g % 1000 + 1')} end`;
  if (name === 'environment') return `'live'`;
  if (name === 'single') return 'true';
  if (name === 'webhook_id' && !unique)
    return `case when g % 2 = 0 then '${bigWebhook}' else ${id('wh', 'g % 1000 + 2')} end`;
  if (name === 'id' && type === 'text') return idOf(schema, table);
  if (type === 'text' && name.endsWith('_id')) return id(prefixOf(name, table), 'g');
  if (allowed.length > 0)
    return unique ? `'${allowed[0]}'` : `('{${allowed.join(',')}}'::text[])[g % ${allowed.length} + 1]`;
  if (name === 'expires_at' || name.endsWith('_until')) return `now() + (g - 100) * interval '1 minute'`;
  // Rows with these columns are deleted some time later. A hundred of these times are in the past.
  if (/^(arrival|seen|last_sign_in|last_used)_at$/.test(name)) return `now() + (g - 100) * interval '1 minute'`;
  if (nullable) return 'null';
  if (type === 'text') return `'${name}_' || g${unique ? '' : ' % 100'}`;
  if (type === 'text[]') return `'{}'`;
  // Encrypted values begin with the ID of their key.
  if (type === 'bytea' && (name.endsWith('sealed') || name === 'answer'))
    return `'\\x01020304'::bytea || sha256(g::text::bytea)`;
  if (type === 'bytea') return `sha256(g::text::bytea)`;
  if (type === 'boolean') return 'g % 2 = 0';
  if (type === 'json' || type === 'jsonb') return `'${name === 'attempts' ? '[]' : '{}'}'`;
  if (type.endsWith('[]')) return `'{1,2,3}'`;
  if (type.startsWith('timestamp')) return timeOf(table);
  if (type === 'date') return `current_date - (g % 10)::integer`;
  return unique ? 'g' : 'g % 100';
}

/** Returns the expression for a time. Requests are partitioned by day; all rows are in a single partition. */
function timeOf(table: string): string {
  return table === 'requests' ? timeOfNumber('g') : `now() - g * interval '1 minute'`;
}

/** Returns the expression for the creation time of the event or delivery with this number. */
function timeOfNumber(number: string): string {
  return `to_timestamp((${firstAtMs} + (${number}) * 10) / 1000.0)`;
}

function idOf(schema: string, table: string): string {
  if (!timedIds.has(`${schema}.${table}`)) return id(idPrefixes[`${schema}.${table}`] ?? 'id', 'g');
  return timedId(table === 'events' ? 'evt' : 'dlv');
}

const idPrefixes: Readonly<Record<string, string>> = {
  'auth.keys': 'key',
  'auth.users': 'usr',
  'auth.invitations': 'inv',
  'auth.portal_sessions': 'pts',
  'auth.email_requests': 'mlr',
  'audit.entries': 'aud',
  'resources.resources': 'res',
  'webhooks.webhooks': 'wh',
  'webhooks.notices': 'ntc',
  'webhooks.replays': 'rpl',
  'alerts.incidents': 'inc',
  'alerts.notifications': 'ntf',
  'alerts.emails': 'mail',
};

function prefixOf(column: string, table: string): string {
  const prefixes: Record<string, string> = {
    user_id: 'usr',
    key_id: 'key',
    event_id: 'evt',
    webhook_id: 'wh',
    resource_id: 'res',
    request_id: 'req',
    incident_id: 'inc',
  };
  return prefixes[column] ?? (table === 'entries' ? 'res' : 'id');
}

async function readTables(client: pg.Client): Promise<Table[]> {
  const { rows } = await client.query<Table & { schema: string; name: string }>(`
    select n.nspname as schema, c.relname as name, json_agg(json_build_object(
             'name', a.attname,
             'type', format_type(a.atttypid, null),
             'nullable', not a.attnotnull,
             'allowed', coalesce((
               select json_agg(m[1]) from pg_constraint as k,
                      regexp_matches(pg_get_constraintdef(k.oid), '''([a-z_]*)''::text', 'g') as m
                where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]), '[]'),
             'unique', exists (
               select from pg_index as i where i.indrelid = c.oid and i.indisunique and a.attnum = any (i.indkey))
           ) order by a.attnum) as columns
      from pg_class as c
      join pg_namespace as n on n.oid = c.relnamespace
      join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where n.nspname in ('audit', 'auth', 'outbox', 'resources', 'webhooks', 'alerts')
       and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'migrations'
     group by 1, 2 order by 1, 2`);
  return rows;
}
