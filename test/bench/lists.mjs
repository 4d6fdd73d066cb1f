import pg from 'pg';
import { Pool } from 'undici';
import { startDistributed } from './distributed.mjs';
import { quantile } from './processes.mjs';

const queries = {
  default: '',
  'by name': 'sort=name',
  'by -updated_at': 'sort=-updated_at',
  'status=inactive': 'status=inactive',
  'status=archived by -name': 'status=archived&sort=-name',
};

/** Fetches a page of 20 and the next one, in workspaces of 1 k, 100 k and 1 M resources, in alternating rounds. */
export async function run({ quick }) {
  const sizes = quick ? [1_000, 100_000] : [1_000, 100_000, 1_000_000];
  const rounds = quick ? 100 : 300;
  const shape = await startDistributed();
  const pool = new Pool(shape.liveUrl, { connections: 1 });
  try {
    const headersOf = new Map();
    for (const size of sizes) headersOf.set(size, await seed(shape, size));
    const latenciesMs = new Map();
    const fetchPage = async (path, headers) => {
      const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${path} returned ${statusCode}: ${text}`);
      return JSON.parse(text);
    };
    for (let round = -20; round < rounds; round++) {
      for (const [name, query] of Object.entries(queries)) {
        for (const size of sizes) {
          const headers = headersOf.get(size);
          const startedAtMs = performance.now();
          const first = await fetchPage(`/v1/resources${query && `?${query}`}`, headers);
          const { pathname, search } = new URL(first.links.next);
          await fetchPage(pathname + search, headers);
          if (first.meta.total !== (query.includes('status') ? Math.floor(size / 4) : size)) {
            throw new Error(`${name} of ${size} has total ${first.meta.total}`);
          }
          if (round < 0) continue; // warm-up
          const key = `${name}/${size}`;
          if (!latenciesMs.has(key)) latenciesMs.set(key, []);
          latenciesMs.get(key).push((performance.now() - startedAtMs) / 2);
        }
      }
    }
    const p50 = (name, size) => quantile(latenciesMs.get(`${name}/${size}`), 0.5);
    const largest = sizes.at(-1);
    const rows = Object.keys(queries).map((name) => ({
      list: name,
      ...Object.fromEntries(sizes.map((size) => [`${size} rows, ms`, p50(name, size)])),
      ratio: p50(name, largest) / p50(name, sizes[0]),
    }));
    const worst = Math.max(...rows.map(({ ratio }) => ratio));
    return {
      about: 'milliseconds per page (p50 of the first and the second page), one request at a time',
      rows,
      goals: [{ goal: `a page costs the same at ${largest} rows within 1.2×`, measured: worst, met: worst <= 1.2 }],
    };
  } finally {
    await pool.close();
    await shape.stop();
  }
}

/**
 * Fills a new workspace by SQL, including its totals; half of the rows are active. Returns request headers with its
 * key.
 */
async function seed(shape, size) {
  const { id } = await shape.rms('workspaces', 'create', '--name', `${size} rows`);
  const { key } = await shape.rms(
    ...['keys', 'create', '--workspace', id, '--environment', 'live', '--scope', 'read', '--name', 'bench'],
  );
  const client = new pg.Client({ connectionString: shape.env.DATABASE_URL });
  await client.connect();
  // The first ten characters of an id are its time in base 32; digits may fill the rest.
  await client.query(
    `insert into resources.resources
       (workspace_id, environment, id, status, name, metadata, input_type, created_at, updated_at, sequence)
     select $1, 'live',
            'res_' || (select string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
                                                ((ms >> (45 - 5 * digit)) & 31)::int + 1, 1), '' order by digit)
                         from generate_series(0, 9) as digit) || lpad(i::text, 16, '0'),
            (array['active', 'inactive', 'active', 'archived'])[i % 4 + 1],
            'Resource ' || md5(i::text), '{"color":"red","size":"large"}', 'standard',
            to_timestamp(ms / 1000.0), to_timestamp((ms + i % 1000) / 1000.0), 1
       from (select i, 1700000000000 + i * 1000 as ms from generate_series(1::bigint, $2) as i) as series`,
    [id, size],
  );
  await client.query(
    `insert into resources.resource_counts (workspace_id, environment, status, shard, count)
     select workspace_id, environment, status, 0, count(*) from resources.resources where workspace_id = $1 group by 1, 2, 3`,
    [id],
  );
  await client.query('vacuum analyze resources.resources');
  await client.end();
  return { authorization: `Bearer ${key}` };
}
