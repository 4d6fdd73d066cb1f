import { migrations as audit } from '@rms/postgres/audit';
import { createLogger } from '@rms/runtime/logging';
import { perSuite, testDatabase, waitUntil } from '@rms/testkit';
import { createRecorder } from '../../src/engine/record/recorder.ts';
import { migrations } from '../../src/migrations.ts';
import { responded, stepsOn } from '../leases.ts';
import { newEvent, newTenant } from '../support.ts';

describe('the recorder', () => {
  const database = perSuite(() => testDatabase([audit, migrations]));
  const steps = perSuite(() => stepsOn(database.pool));

  test('records the attempts of a tenant while a recording for another tenant is blocked', async () => {
    const [slow, other] = [newTenant(), newTenant()];
    for (const tenant of [slow, other]) await steps.subscribe(tenant);
    const jobs = await steps.store([newEvent(slow), newEvent(other)], 2);
    const jobOf = ({ workspaceId }: typeof slow) => jobs.find((job) => job.workspaceId === workspaceId);
    const recorder = createRecorder({
      pool: database.pool,
      log: createLogger({ name: 'test', level: 'silent' }),
      counters: [],
      onFreed: () => {},
    });
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('select from webhooks.deliveries where id = $1 for update', [jobOf(slow)?.id]);
    const blocked = recorder.record(responded(jobOf(slow), 200));
    /** Statements that wait for a lock. A statement that was canceled and repeated has another start. */
    const waiting = async () => {
      const { rows } = await database.pool.query(
        `select pid, query_start from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return rows;
    };
    try {
      const [first] = await waitUntil(async () => ((await waiting()).length === 1 ? waiting() : undefined), {
        what: 'the first recording to wait',
      });
      await recorder.record(responded(jobOf(other), 200));
      // The recording did not wait for the blocked one's end.
      expect(await waiting()).toEqual([first]);
      expect(await steps.logged(other)).toMatchObject([{ status: 'delivered' }]);
      expect(await steps.logged(slow)).toMatchObject([{ status: 'pending' }]);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    await blocked;
    expect(await steps.logged(slow)).toMatchObject([{ status: 'delivered' }]);
    recorder.stop();
  });
});
