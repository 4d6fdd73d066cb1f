import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { type TestDatabase, testDatabase, waitUntil } from '@rms/testkit';
import { createPool, inOneTrip, type Pool } from '../src/index.ts';

/** A way to a database that lets no answer through from when it is held until it has seen such a text of a client. */
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
      for (const answer of held.splice(0)) client.write(answer);
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

describe('inOneTrip', () => {
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

  test('commits all, and answers with the result of each', async () => {
    const results = await inOneTrip(pool, [
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
    [
      'first that is prepared',
      [insert(1), { name: 'wrong', text: 'selec' }, { name: 'wrong', text: 'selec' }],
      '42601',
    ],
  ])('of none anything stays when the %s fails, and its error is thrown', async (_, statements, code) => {
    await expect(inOneTrip(pool, statements)).rejects.toMatchObject({ code });
    expect(await ids()).toEqual([]);
    // The connection is as good as before.
    await inOneTrip(pool, [insert(1)]);
    expect(await ids()).toEqual([1]);
  });

  test('a constraint that is checked at the commit', async () => {
    await pool.query('create table parts (thing int references things deferrable initially deferred)');
    const orphan = { text: 'insert into parts values (7)' };
    await expect(inOneTrip(pool, [orphan])).rejects.toMatchObject({ code: '23503' });
    expect((await pool.query('select from parts')).rowCount).toBe(0);
    await pool.query('drop table parts');
  });

  test('a connection that breaks is not used again', async () => {
    await expect(
      inOneTrip(pool, [insert(1), { text: 'select pg_terminate_backend(pg_backend_pid())' }, insert(2)]),
    ).rejects.toThrow();
    expect(await ids()).toEqual([]);
    expect(pool.waitingCount).toBe(0);
  });

  test('a statement sees what was committed while the one before it waited', async () => {
    const other = await pool.connect();
    await other.query('begin');
    await other.query('select pg_advisory_xact_lock(1)');
    await other.query('insert into things values (1)');
    const waits = inOneTrip(pool, [
      { text: 'select pg_advisory_xact_lock(1)' },
      { text: 'select count(*)::int as n from things' },
    ]);
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted
                        and database = (select oid from pg_database where datname = current_database())`;
    await waitUntil(async () => (await pool.query(waiting)).rowCount === 1, { what: 'the lock to be waited for' });
    await other.query('commit');
    other.release();
    expect((await waits)[1]?.rows).toEqual([{ n: 1 }]);
  });

  test('all is sent before anything is answered', async () => {
    const { server, url, holdUntil } = await heldProxy(new URL(database.url));
    const through = createPool({ url, max: 1, applicationName: 'test', log: { warn() {} } });
    try {
      await through.query('select 1');
      holdUntil('commit');
      await inOneTrip(through, [insert(1), insert(2)]);
      expect(await ids()).toEqual([1, 2]);
    } finally {
      await through.end();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
