import { freePort, perSuite, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Webhooks, webhooksDatabase } from '../support.ts';

const webhooks = 1_000;
const deliveriesOfEach = 100;

describe('a restart with dead endpoints', () => {
  let rms: Webhooks | undefined;
  const database = perSuite(webhooksDatabase);
  afterEach(async () => {
    await rms?.stop();
    rms = undefined;
  });

  const query = async <T extends object>(text: string, values: unknown[] = []) =>
    (await database.pool.query<T>(text, values)).rows;
  const start = async () => {
    rms = await startWebhooks({}, { given: database });
    return rms;
  };
  /** Stores webhooks with open circuits, each with retries that are due, at an endpoint that refuses connections. */
  const fill = async () => {
    const tenant = newTenant();
    const first = await start();
    const url = `http://127.0.0.1:${await freePort()}/`;
    const event = newEvent(tenant);
    await first.publish(event);
    const create = () => first.webhooks.createWebhook({ ...tenant, url, events: ['resource.deleted'] });
    for (let i = 0; i < webhooks; i += 20) await Promise.all(Array.from({ length: 20 }, create));
    await first.stop();
    rms = undefined;
    await query(
      `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        sequence, request_id, tries, due_at)
       select e.workspace_id, e.environment, 'dlv_' || substr(e.id, 5, 10) || substr(md5(w.id || n), 1, 16), e.id, w.id,
              e.type, e.resource_id, 1, e.request_id, 1, now()
         from webhooks.events as e, webhooks.webhooks as w, generate_series(1, $2) as n where e.id = $1`,
      [event.id, deliveriesOfEach],
    );
    await query(
      `update webhooks.endpoints set pause_ms = 10000, concurrency = 1, open_since = now(), not_before = now(),
              next_due_at = now()`,
    );
  };
  /** Attempts per webhook: of the webhook with the most attempts, and of all webhooks together. */
  const attempts = async () => {
    const [row] = await query<{ most: number; called: number; used: number }>(
      `select max(attempts)::integer as most, count(*) filter (where attempts > 0)::integer as called,
              sum(used)::integer as used
         from (select webhook_id, sum(attempt_count) as attempts, sum(tries - 1) as used
                 from webhooks.deliveries group by webhook_id) as of_webhook`,
    );
    return row ?? { most: 0, called: 0, used: 0 };
  };

  test('makes one probe per endpoint, and uses up no retries of the other deliveries', async () => {
    await fill();
    const [count] = await query<{ count: number }>('select count(*)::integer from webhooks.deliveries');
    expect(count?.count).toBe(webhooks * deliveriesOfEach);
    await start();
    await waitUntil(async () => (await attempts()).called === webhooks, { what: 'a probe of every endpoint' });
    await rms?.stop();
    rms = undefined;
    // The pause before a second probe is at least half of ten seconds. On a slow machine, the first endpoints may be
    // probed again before the last one is called.
    const { most, used } = await attempts();
    const [probes] = await query<{ count: number }>(
      'select sum(attempt_count)::integer as count from webhooks.deliveries where attempt_count > 0',
    );
    expect(used).toBe(probes?.count);

    // The circuits are still open for the next instance.
    const [closed] = await query<{ count: number }>(
      'select count(*)::integer from webhooks.endpoints where pause_ms = 0 or not_before is null',
    );
    expect(closed?.count).toBe(0);
    await query(
      `update webhooks.endpoints set not_before = now() + interval '100 seconds', next_due_at = now() + interval '100 seconds'`,
    );
    await start();
    const [beat] = await query<{ seen: Date }>('select max(seen_at) as seen from webhooks.instances');
    await waitUntil(
      async () => {
        const [now] = await query<{ seen: Date }>('select max(seen_at) as seen from webhooks.instances');
        return now !== undefined && beat !== undefined && now.seen > beat.seen;
      },
      { what: 'the instance to have polled several times' },
    );
    expect((await attempts()).most).toBe(most);
  });
});
