import { migrations as audit } from '@rms/postgres/audit';
import { migrations, outboxMigrations as outbox } from '@rms/resources/migrations';
import { startPostgres, testDatabase } from '@rms/testkit';
import pg from 'pg';
import { readPage } from '../../services/resources/src/rpc/list-resources.ts';
import { quantile } from './processes.mjs';

const tenant = /** @type {const} */ ({ workspaceId: 'ws_00000000000000000000000000', environment: 'live' });
const rowsPerStatement = 100;
const pageSize = 20;

/** Sorts names by bytes, for comparison: the same page without the sort keys' index. */
const bytewise = {
  first: `select * from resources.resources where workspace_id = $1 and environment = $2 and status = 'active'
           order by name, id limit 21`,
  prefix: `select * from resources.resources where workspace_id = $1 and environment = $2 and status = 'active'
            and name >= 'Resource ab' and name < 'Resource ab' || chr(1114111) order by name, id limit 21`,
};

/**
 * Measures the cost of ordering names with a million rows: inserts with and without the sort keys' index, the
 * creation of that index, and pages by name and by prefix. Half of the names have accents.
 */
export async function run({ quick }) {
  const size = quick ? 100_000 : 1_000_000;
  const rounds = quick ? 100 : 300;
  const postgres = await startPostgres();
  try {
    const database = await testDatabase([audit, outbox, migrations], postgres.url);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { indexdef } = (
      await client.query("select indexdef from pg_indexes where indexname = 'resources_by_name_key'")
    ).rows[0];
    await client.query('drop index resources.resources_by_name_key');
    const without = await fill(client, size);
    const creationMs = await timeOf(() => client.query(indexdef));
    await client.query('truncate resources.resources');
    const withIndex = await fill(client, size);
    await client.query('vacuum analyze resources.resources');
    const bytes = async (index) =>
      Number(
        (await client.query('select pg_relation_size($1::regclass) as bytes', [`resources.${index}`])).rows[0].bytes,
      );
    const megabytes = { bytewise: await bytes('resources_by_name'), 'sort keys': await bytes('resources_by_name_key') };
    const listing = /** @type {const} */ ({
      ...tenant,
      status: 'active',
      sort: { field: 'name', descending: false },
      namePrefix: '',
      metadata: [],
    });
    const bounds = { limit: pageSize, bytes: 1024 * 1024, isFirst: true };
    const { resources } = await readPage(client, listing, undefined, bounds);
    const start = {
      direction: /** @type {const} */ ('after'),
      keys: [resources.at(-2).name, resources.at(-2).id],
      page: 2,
    };
    const statements = {
      'page by bytes': () => client.query({ name: 'bytes', text: bytewise.first, values: Object.values(tenant) }),
      'page by name': () => readPage(client, listing, undefined, bounds),
      'next page by name': () => readPage(client, listing, start, bounds),
      'page by name, any status': () => readPage(client, { ...listing, status: undefined }, undefined, bounds),
      'prefix by bytes': () => client.query({ name: 'prefix', text: bytewise.prefix, values: Object.values(tenant) }),
      prefix: () => readPage(client, { ...listing, namePrefix: 'RÉSOURCE ab' }, undefined, bounds),
    };
    const times = Object.fromEntries(Object.keys(statements).map((name) => [name, []]));
    for (let round = -20; round < rounds; round += 1) {
      for (const [name, statement] of Object.entries(statements)) {
        const durationMs = await timeOf(statement);
        if (round >= 0) times[name].push(durationMs);
      }
    }
    await client.end();
    return {
      about: `${size} rows, half of the names with accents; inserts of ${rowsPerStatement} rows per statement`,
      rows: [
        { what: 'rows/s, without the index', measured: (size / without) * 1_000 },
        { what: 'rows/s, with the index', measured: (size / withIndex) * 1_000 },
        { what: 'creation of the index, s', measured: creationMs / 1_000 },
        ...Object.entries(megabytes).map(([what, size]) => ({ what: `index of ${what}, MB`, measured: size / 1e6 })),
        ...Object.entries(times).map(([what, list]) => ({ what: `${what}, p50 ms`, measured: quantile(list, 0.5) })),
      ],
      goals: [],
    };
  } finally {
    await postgres.stop();
  }
}

/** Inserts `size` rows one statement after the other. Returns the milliseconds. */
function fill(client, size) {
  return timeOf(async () => {
    for (let from = 0; from < size; from += rowsPerStatement) {
      await client.query({
        name: 'fill',
        text: `insert into resources.resources
                 (workspace_id, environment, id, status, name, metadata, input_type, created_at, updated_at, sequence)
               select $1, $2, 'res_' || lpad(i::text, 26, '0'), 'active',
                      case when i % 2 = 0 then 'Resource ' else 'Résource ' end || md5(i::text),
                      '{"color":"red","size":"large"}', 'standard', now(), now(), 1
                 from generate_series($3::integer, $4::integer) as i`,
        values: [...Object.values(tenant), from, from + rowsPerStatement - 1],
      });
    }
  });
}

async function timeOf(action) {
  const startedAtMs = performance.now();
  await action();
  return performance.now() - startedAtMs;
}
