import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

/** Connects to the embedded PostgreSQL of `npm start`. */
export async function connect({ dataDir }) {
  const port = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[3];
  const password = readFileSync(join(dataDir, 'postgres.password'), 'utf8').trim();
  const client = new pg.Client(`postgres://postgres:${password}@127.0.0.1:${port}/postgres`);
  await client.connect();
  return client;
}
