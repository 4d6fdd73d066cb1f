import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { type TestDatabase, testDatabase, waitUntil } from '@rms/testkit';
import { createPool, inOneRoundTrip, type Pool } from '../../src/db/index.ts';

/**
 * Starts a proxy to a database. After holdUntil(text), the proxy holds back responses until a client has sent that
 * text.
 */
async function heldProxy(to: URL): Promise<{ server: Server; url: string; holdUntil: (text: string) => void }> {
  let awaited: string | undefined;
  const server = createServer((client) => {
    const upstream = connect(Number(to.port), to.hostname);
    const held: Buffer[] = [];
    upstream.on('data', (data) => {
      if (awaited === undefined) client.write(data);
      else held.push(data);
    });
    client.on('data', (data) => {
      upstream.write(data);
      if (awaited === undefined || !data.includes(awaited)) return;
      awaited = undefined;
      for (const response of held.splice(0)) client.write(response);
    });
    for (const socket of [client, upstream]) {
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(to);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    server,
    url: url.href,
    holdUntil: (text) => {
      awaited = text;
    },
  };
}

describe('inOneRoundTrip', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await testDatabase([]);
    pool = database.pool;
    await pool.query('create table things (id int primary key)');
  });
  afterAll(() => database?.drop());
  afterEach(() => pool.query('truncate things'));

  const insert = (id: unknown) => ({ name: 'insert', text: 'insert into things values ($1)', values: [id] });
  const ids = async () =>
    (await pool.query<{ id: number }>('select id from things order by id')).rows.map(({ id }) => id);

  test('commits all statements, and returns their results', async () => {
    const results = await inOneRoundTrip(pool, [
      insert(1),
      { text: "set local synchronous_commit = off; set local work_mem = '1MB'" },
      { text: 'select count(*)::int as n from things' },
    ]);
    expect([results.length, results[0]?.rowCount, results[2]?.rows]).toEqual([3, 1, [{ n: 1 }]]);
    expect(await ids()).toEqual([1]);
  });

  test.each([
    ['first', [insert('x'), insert(2), insert(3)], '22P02'],
    ['middle', [insert(1), insert(1), insert(3)], '23505'],
    ['last', [insert(1), insert(2), insert(99_999_999_999)], '22003'],
    ['first prepared', [insert(1), { name: 'wrong', text: 'selec' }, { name: 'wrong', text: 'selec' }], '42601'],
  ])('rolls back everything when the %s statement fails, and throws its error', async (_, statements, code) => {
    await expect(inOneRoundTrip(pool, statements)).rejects.toMatchObject({ code });
    expect(await ids()).toEqual([]);
    // The connection remains usable.
    await inOneRoundTrip(pool, [insert(1)]);
    expect(await ids()).toEqual([1]);
  });

  test('fails on a constraint that is checked at the commit', async () => {
    await pool.query('create table parts (thing int references things deferrable initially deferred)');
    const orphan = { text: 'insert into parts values (7)' };
    await expect(inOneRoundTrip(pool, [orphan])).rejects.toMatchObject({ code: '23503' });
    expect((await pool.query('select from parts')).rowCount).toBe(0);
    await pool.query('drop table parts');
  });

  test('does not reuse a broken connection', async () => {
    await expect(
      inOneRoundTrip(pool, [insert(1), { text: 'select pg_terminate_backend(pg_backend_pid())' }, insert(2)]),
    ).rejects.toThrow();
    expect(await ids()).toEqual([]);
    expect(pool.waitingCount).toBe(0);
  });

  test('a statement sees commits made while the previous statement waited', async () => {
    const other = await pool.connect();
    await other.query('begin');
    await other.query('select pg_advisory_xact_lock(1)');
    await other.query('insert into things values (1)');
    const waits = inOneRoundTrip(pool, [
      { text: 'select pg_advisory_xact_lock(1)' },
      { text: 'select count(*)::int as n from things' },
    ]);
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted
                        and database = (select oid from pg_database where datname = current_database())`;
    await waitUntil(async () => (await pool.query(waiting)).rowCount === 1, {
      what: 'the statement to wait for the lock',
    });
    await other.query('commit');
    other.release();
    expect((await waits)[1]?.rows).toEqual([{ n: 1 }]);
  });

  test('all statements are sent before the first response', async () => {
    const { server, url, holdUntil } = await heldProxy(new URL(database.url));
    const through = createPool({ url, max: 1, applicationName: 'test', log: { warn() {} } });
    try {
      await through.query('select 1');
      holdUntil('commit');
      await inOneRoundTrip(through, [insert(1), insert(2)]);
      expect(await ids()).toEqual([1, 2]);
    } finally {
      await through.end();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
