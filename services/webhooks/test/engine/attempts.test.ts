import { migrations as audit } from '@rms/postgres/audit';
import { perSuite, testDatabase } from '@rms/testkit';
import { type Recording, recordAttempts } from '../../src/engine/record/recorder.ts';
import { migrations } from '../../src/migrations.ts';
import { redeliver } from '../../src/rpc/redeliver-delivery.ts';
import { responded, stepsOn } from '../leases.ts';
import { newEvent, newTenant } from '../support.ts';

/** Returns the numbers from `first` to `last`. */
const numbers = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

describe('the attempts of a delivery', () => {
  const database = perSuite(() => testDatabase([audit, migrations]));
  const steps = perSuite(() => stepsOn(database.pool));

  /** Attempts the only delivery of a new tenant until it is delivered. Returns it. */
  const attempt = async (count: number, resultOf: (number: number) => Partial<Recording['result']>) => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    let [job] = await steps.store([newEvent(tenant)], 1);
    for (let number = 1; number < count; number += 1) {
      const failed = responded(job, 500);
      const result = { ...failed.result, startedAt: new Date(number), ...resultOf(number) };
      await recordAttempts(database.pool, [{ ...failed, result, settlement: { status: 'pending', dueInMs: 0 } }]);
      [job] = await steps.claim();
    }
    await recordAttempts(database.pool, [responded(job, 200)]);
    const [delivery] = await steps.logged(tenant);
    if (!delivery) throw new Error('the delivery is missing');
    return { tenant, delivery };
  };

  test('are bounded in number: the first 10 and the last 90 are kept, and all are counted', async () => {
    const { tenant, delivery } = await attempt(121, () => ({}));
    expect(delivery.attempts.map(({ number }) => number)).toEqual([...numbers(1, 10), ...numbers(32, 121)]);
    expect(delivery).toMatchObject({ attemptCount: 121, lastAttempt: { number: 121, status_code: 200 } });

    // A redelivery continues counting.
    await redeliver(database.pool, steps.scopeOf(tenant), delivery.id);
    const [job] = await steps.claim();
    await recordAttempts(database.pool, [responded(job, 200)]);
    const [again] = await steps.logged(tenant);
    expect(again).toMatchObject({ attemptCount: 122, lastAttempt: { number: 122 } });
    expect(again?.attempts.map(({ number }) => number)).toEqual([...numbers(1, 10), ...numbers(33, 122)]);
  });

  test('are bounded in bytes: with large responses, the first and the last attempts are kept', async () => {
    const body = Buffer.from('x'.repeat(16 * 1024));
    const { delivery } = await attempt(40, () => ({ responseBody: body }));
    const kept = delivery.attempts.map(({ number }) => number);
    expect(kept).toEqual([...numbers(1, 3), ...numbers(kept[3] ?? 0, 40)]);
    expect(kept.length).toBeGreaterThan(10);
    expect(JSON.stringify(delivery.attempts).length).toBeLessThan(256 * 1024);
    expect(delivery.attemptCount).toBe(40);
  });

  test('that an earlier release stored without a bound are bounded on every read and write', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    const [job] = await steps.store([newEvent(tenant)], 1);
    await database.pool.query(
      `update webhooks.deliveries
          set attempts = (select jsonb_agg(jsonb_build_object('number', n, 'at', now(), 'status_code', 500, 'error',
                                             'status: 500', 'duration_ms', 1, 'response_body', repeat('x', 16384)))
                            from generate_series(1, 2000) as n)
        where id = $1`,
      [job?.id],
    );
    const [queued] = await steps.logged(tenant);
    expect(queued).toMatchObject({ attemptCount: 2_000, lastAttempt: { number: 2_000 } });
    expect(queued?.attempts.length).toBeLessThan(20);
    await recordAttempts(database.pool, [responded(job, 200)]);
    const { rows } = await database.pool.query(
      `select jsonb_array_length(attempts) < 20 as is_bounded, attempt_count, last_attempt ->> 'number' as last
         from webhooks.delivery_log where id = $1`,
      [job?.id],
    );
    expect(rows).toEqual([{ is_bounded: true, attempt_count: 2_001, last: '2001' }]);
  });
});
