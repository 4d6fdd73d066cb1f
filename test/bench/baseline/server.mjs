// Baseline of the benchmarks: the simplest comparable service, one Express 5 process with pg, without keys, limits,
// idempotency, events, request ids or counters.
import express from 'express';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
await pool.query(`
  create table if not exists resources (
    id uuid primary key default gen_random_uuid(),
    status text not null default 'active',
    name text not null,
    metadata jsonb not null default '{}',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
  )`);

const app = express();
app.use(express.json());

app.post('/v1/resources', async (request, response) => {
  const { name, metadata = {} } = request.body;
  if (typeof name !== 'string' || name.length < 1 || name.length > 255) {
    response.status(400).json({ error: 'name' });
    return;
  }
  const { rows } = await pool.query('insert into resources (name, metadata) values ($1, $2) returning *', [
    name,
    metadata,
  ]);
  response.status(201).json({ data: { type: 'resource', ...rows[0] } });
});

app.get('/v1/resources/:id', async (request, response) => {
  const { rows } = await pool.query('select * from resources where id = $1', [request.params.id]);
  if (rows.length === 0) {
    response.status(404).json({ error: 'not found' });
    return;
  }
  response.json({ data: { type: 'resource', ...rows[0] } });
});

app.get('/refused/:status', (request, response) => {
  const status = Number(request.params.status);
  response.status(status).json({ error: { code: 'refused', message: 'Forbidden.', status } });
});

const server = app.listen(Number(process.env.PORT), '127.0.0.1', () => process.send?.('ready'));
process.on('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void pool.end();
});
