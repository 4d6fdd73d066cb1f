import { createLogger } from '@rms/runtime/logging';
import { disposable, perSuite, testDatabase, testSlowNames } from '@rms/testkit';
import { createPool } from '../../src/db/index.ts';

const log = createLogger({ name: 'db', level: 'silent' });

describe('a pool connects to PostgreSQL', () => {
  const database = perSuite(() => testDatabase([]));

  testSlowNames(() => {
    const url = new URL(database.url);
    return {
      port: Number(url.port),
      reach: async (host, port) => {
        url.hostname = host;
        url.port = `${port}`;
        await using pool = disposable(createPool({ url: url.href, max: 1, applicationName: 'test', log }));
        expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
      },
      stop() {},
    };
  });
});
