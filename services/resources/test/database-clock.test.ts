import { migrations as audit } from '@rms/postgres/audit';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { countAcrossJump, disposable, movableClock, testDatabase } from '@rms/testkit';
import { createHousekeeping } from '../src/housekeeping.ts';
import { migrations, outboxMigrations as outbox } from '../src/migrations.ts';
import { createOne, newCaller, startResources } from './support.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const dayMs = 24 * 3_600_000;

test('a clock of PostgreSQL that is 40 days ahead during a pass of housekeeping deletes no idempotency keys', async () => {
  await using database = disposable(await testDatabase([audit, outbox, migrations]));
  const { pool } = database;
  const setAhead = await movableClock(database);
  await pool.query(
    `insert into resources.idempotency_keys (workspace_id, environment, key, fingerprint, resource_id, answer, expires_at)
       values ('ws_1', 'live', 'k', '', 'res_1', '', now() + interval '24 hours'),
              ('ws_1', 'live', 'expired', '', 'res_2', '', now() - interval '1 second')`,
  );
  const housekeep = () => pass(pool);
  const keys = async () => (await pool.query('select key from resources.idempotency_keys')).rows;
  const expected = [{ key: 'k' }];
  expect(await countAcrossJump(setAhead, housekeep, keys)).toEqual([expected, expected, expected]);
});

test('a create that is repeated with its key while the clock is ahead creates no second resource', async () => {
  let setAhead = async (_aheadMs: number) => {};
  await using rms = disposable(
    await startResources(1, undefined, false, async (database) => {
      setAhead = await movableClock(database);
    }),
  );
  await pass(rms.database.pool);
  const context = newCaller();
  const create = async () => createOne(rms.client, context, 'one', { idempotencyKey: 'k' });
  const { id } = await create();
  await setAhead(2 * dayMs);
  expect((await create()).id).toBe(id);
});

/** Runs every task once, as a restarted instance. */
function pass(pool: Awaited<ReturnType<typeof testDatabase>>['pool']) {
  return createHousekeeping({ pool, log, metrics: createMetrics('resources') }).pass(new AbortController().signal);
}
