import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

/** Connects to the embedded PostgreSQL of `npm start`. */
export async function connect({ dataDir }) {
  const [, , , port, socketFolder, address] = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split(
    '\n',
  );
  const password = readFileSync(join(dataDir, 'postgres.password'), 'utf8').trim();
  const client = new pg.Client({
    host: socketFolder || address,
    port: Number(port),
    user: 'postgres',
    password,
    database: 'postgres',
  });
  await client.connect();
  return client;
}
