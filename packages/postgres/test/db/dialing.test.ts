import { createLogger } from '@rms/runtime/logging';
import { type TestDatabase, testDatabase, testSlowNames } from '@rms/testkit';
import { createPool } from '../../src/db/index.ts';

const log = createLogger({ name: 'db', level: 'silent' });

describe('a pool connects to PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase([]);
  });
  afterAll(() => database.drop());

  testSlowNames(() => {
    const url = new URL(database.url);
    return {
      port: Number(url.port),
      reach: async (host, port) => {
        url.hostname = host;
        url.port = `${port}`;
        const pool = createPool({ url: url.href, max: 1, applicationName: 'test', log });
        try {
          expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
        } finally {
          await pool.end();
        }
      },
      stop() {},
    };
  });
});
