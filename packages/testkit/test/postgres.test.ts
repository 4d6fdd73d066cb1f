import { createPool } from '@rms/postgres/db';
import { perSuite, startPostgres, waitUntil } from '../src/index.ts';

const log = { warn() {} };

describe('startPostgres', () => {
  const postgres = perSuite(startPostgres);
  const pool = perSuite(() => createPool({ url: postgres.url, max: 2, applicationName: 'test', log }));

  test('committed data survive a kill and a restart, at the same address', async () => {
    await pool.query('create table kept as select 7 as number');
    const { pid } = postgres;
    await postgres.kill();
    // A session may outlive the server's main process for a moment.
    const refused = () =>
      pool.query('select 1').then(
        () => false,
        () => true,
      );
    await waitUntil(refused, { what: 'the end of the last session' });
    await postgres.restart();
    expect((await pool.query('select number from kept')).rows).toEqual([{ number: 7 }]);
    expect(postgres.pid).not.toBe(pid);
  });
});
