import { perSuite, testDatabase } from '@rms/testkit';
import { createPool, type Pool } from '../../src/db/index.ts';

describe('a session in a database with other defaults', () => {
  let pool: Pool;
  const open = () => createPool({ url: database.url, max: 1, applicationName: 'test', log: { warn() {} } });
  afterAll(async () => {
    await pool?.end();
  });
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    const name = new URL(database.url).pathname.slice(1);
    const before = open();
    for (const setting of [
      `datestyle to 'SQL, DMY'`,
      `intervalstyle to 'iso_8601'`,
      'bytea_output to escape',
      'extra_float_digits to -10',
      'array_nulls to off',
      'default_transaction_isolation to serializable',
      'standard_conforming_strings to off',
    ])
      await before.query(`alter database "${name}" set ${setting}`);
    await before.end();
    pool = open();
  });

  test('reads and writes values as usual', async () => {
    const { rows } = await pool.query(
      `select timestamptz '2026-02-01 03:04:05.678Z' as at, '\\x00ff'::bytea as bytes, 1.0::float8 / 3 as third,
              interval '1 day' as day, $1::text[] as texts`,
      ['{a,NULL}'],
    );
    expect(rows).toEqual([
      {
        at: new Date('2026-02-01T03:04:05.678Z'),
        bytes: Buffer.from([0, 255]),
        third: 1 / 3,
        day: expect.objectContaining({ days: 1 }),
        texts: ['a', null],
      },
    ]);
  });

  test('reads backslashes in literals as usual', async () => {
    const { rows } = await pool.query(`select 'a\\nb' as text`);
    expect(rows).toEqual([{ text: 'a\\nb' }]);
  });

  test.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_apply', 'remote_apply'],
  ])(
    'synchronous_commit %s becomes %s: commits are on the disks of the primary and the synchronous standby',
    async (set, used) => {
      await database.pool.query(
        `alter database "${new URL(database.url).pathname.slice(1)}" set synchronous_commit to ${set}`,
      );
      const own = open();
      const { rows } = await own.query(`select current_setting('synchronous_commit') as commit`);
      await own.end();
      expect(rows).toEqual([{ commit: used }]);
    },
  );

  test('has the isolation level that the statements are written for', async () => {
    const { rows } = await pool.query(`select current_setting('transaction_isolation') as level`);
    expect(rows).toEqual([{ level: 'read committed' }]);
  });
});
