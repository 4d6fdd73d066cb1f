// The minimum cost of a delivery: a bare loop that POSTs signed bodies with undici over 32 connections and inserts one
// row each. Started with DATABASE_URL; a message { url, count } starts one round, and the process replies with 'done'.
import { createHmac, randomUUID } from 'node:crypto';
import pg from 'pg';
import { Pool } from 'undici';

const connections = 32;
const secret = 'whsec_baseline';
const body = Buffer.from(JSON.stringify({ id: randomUUID(), data: { object: { note: 'n'.repeat(300) } } }));
const db = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 8 });
await db.query(`create table if not exists deliveries (
  id uuid primary key, url text not null, status_code integer not null, duration_ms float8 not null, body bytea not null,
  created_at timestamptz not null default now())`);

process.on('message', async ({ url, count }) => {
  const { origin, pathname: path } = new URL(url);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  let next = 0;
  const loop = async () => {
    while (next < count) {
      const id = `res_${next++}`;
      const startedAtMs = performance.now();
      const headers = {
        'content-type': 'application/json',
        'x-service-signature': createHmac('sha256', secret).update(body).digest('hex'),
        'x-resource': id,
      };
      const response = await pool.request({ method: 'POST', path, headers, body });
      await response.body.dump();
      await db.query({
        name: 'delivered',
        text: 'insert into deliveries (id, url, status_code, duration_ms, body) values ($1, $2, $3, $4, $5)',
        values: [randomUUID(), url, response.statusCode, performance.now() - startedAtMs, body],
      });
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  await pool.close();
  process.send('done');
});
process.on('disconnect', () => process.exit(0));
process.send('ready');
