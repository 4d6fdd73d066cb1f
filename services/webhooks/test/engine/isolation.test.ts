import { newId } from '@rms/base/ids';
import { freePort, perSuite, startHostileReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';

const deadOfEach = 60;
const dueRetries = 50_000;
const eventsOfHealthy = 60;
/** Number of resources that the events belong to. */
const lanes = 12;
/** Upper bound for the jobs that the instance leases in this test. */
const jobsLimit = 5_000;
/** Maximum number of concurrent attempts at the failing endpoints of a workspace. */
const failingOfWorkspace = 256;

describe('dead endpoints with a large backlog, in one instance', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startHostileReceiver);

  const query = async <T extends object>(text: string, values: unknown[] = []) =>
    (await rms.database.pool.query<T>(text, values)).rows;
  const subscribe = async (tenant: Tenant, url: string, events: string[], ordered = false) =>
    (await rms.subscribe(tenant, url, { events, ordered, retryPolicy: retries(5, 3_600_000) })).id;
  const eventsOf = (tenant: Tenant) => {
    const resourceIds = Array.from({ length: lanes }, () => newId('res'));
    return Array.from({ length: eventsOfHealthy }, (_, i) =>
      newEvent(tenant, 'resource.created', `${i}`, resourceIds[i % lanes]),
    );
  };
  /** Inserts `each` retries of an event per webhook, which have been due for an hour. */
  /** Stores due retries, and the limit that an endpoint has after a failed attempt. */
  const makeDue = async (eventId: string, webhookIds: string[], each: number) => {
    await query(
      `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        sequence, request_id, tries, due_at)
       select e.workspace_id, e.environment, 'dlv_' || substr(e.id, 5, 10) || substr(md5(w.id || n), 1, 16), e.id, w.id,
              e.type, e.resource_id, 1, e.request_id, 1, now() - interval '1 hour'
         from webhooks.events as e, unnest($2::text[]) as w (id), generate_series(1, $3) as n
        where e.id = $1`,
      [eventId, webhookIds, each],
    );
    await query('update webhooks.endpoints set concurrency = 1 where webhook_id = any($1)', [webhookIds]);
  };

  test('do not delay healthy endpoints of any workspace, and the instance stays within its limits', async () => {
    const tenants = Array.from({ length: 4 }, () => newTenant());
    const refusing = `http://127.0.0.1:${await freePort()}/`;
    const healthy: { path: string; id: string }[] = [];
    const hanging: string[] = [];
    const backlogs: [eventId: string, webhookIds: string[]][] = [];
    for (const [i, tenant] of tenants.entries()) {
      const old = newEvent(tenant, 'resource.deleted');
      await rms.publish(old);
      for (const ordered of [false, true]) {
        const path = `/healthy/${ordered ? 'ordered/' : ''}${i}`;
        healthy.push({ path, id: await subscribe(tenant, receiver.url(path), ['resource.created'], ordered) });
      }
      await receiver.behave(`/silent/${i}`, { kind: 'silent' });
      await receiver.behave(`/drip/${i}`, { kind: 'drip', part: 'head' });
      await receiver.behave(`/broken/${i}`, { kind: 'respond', status: 500 });
      // The last tenant has only healthy endpoints.
      if (i === tenants.length - 1) continue;
      const silent = [receiver.url(`/silent/${i}`), receiver.url(`/drip/${i}`)];
      const urls = [...silent, receiver.url(`/broken/${i}`), refusing];
      const dead: string[] = [];
      for (let n = 0; n < deadOfEach; n += 1) {
        const url = urls[n % urls.length] ?? '';
        const id = await subscribe(tenant, url, ['resource.deleted']);
        dead.push(id);
        if (silent.includes(url)) hanging.push(id);
      }
      backlogs.push([old.id, dead]);
    }
    const retriesOfEach = Math.ceil(dueRetries / deadOfEach / backlogs.length);
    await Promise.all(backlogs.map(([eventId, dead]) => makeDue(eventId, dead, retriesOfEach)));
    await waitUntil(() => tenants.slice(0, -1).every((_, i) => receiver.requests(`/silent/${i}`).length >= 15), {
      what: 'hanging attempts',
    });

    const arrived = (path: string) => new Set(receiver.requests(path).map(({ eventId }) => eventId)).size;
    // Publishes events for the dead endpoints too, so that they stay busy while the healthy ones are served.
    const events = tenants.map(eventsOf);
    for (let i = 0; i < eventsOfHealthy; i += 20) {
      const fresh = tenants.map((tenant) => newEvent(tenant, 'resource.deleted'));
      await rms.publish(...events.flatMap((of) => of.slice(i, i + 20)), ...fresh);
      if (i > 0) continue;
      // The first events do not wait for a hanging attempt's end.
      await waitUntil(() => healthy.every(({ path }) => arrived(path) > 0), { what: 'the first healthy deliveries' });
      const firstMs = healthy.map(({ path }) => Math.min(...receiver.requests(path).map(({ atMs }) => atMs)));
      const [ended] = await query<{ count: number }>(
        `select count(*)::integer from webhooks.deliveries, jsonb_array_elements(attempts) as attempt
          where webhook_id = any($1)
            and (attempt ->> 'at')::timestamptz + (attempt ->> 'duration_ms')::bigint * interval '1 ms' < $2`,
        [hanging, new Date(Math.max(...firstMs))],
      );
      expect(ended?.count).toBe(0);
      expect(hanging.length).toBeGreaterThan(deadOfEach);
    }
    await waitUntil(() => healthy.every(({ path }) => arrived(path) === eventsOfHealthy), {
      what: 'the healthy endpoints',
    });

    for (const [i] of tenants.entries()) {
      const inFlight = receiver.requests(`/silent/${i}`).length + receiver.requests(`/drip/${i}`).length;
      expect(inFlight).toBeLessThanOrEqual(failingOfWorkspace);
    }
    const [leased] = await query<{ count: number }>(
      `select count(*)::integer from webhooks.deliveries where due_at > now() and due_at < now() + interval '20 s'`,
    );
    expect(leased?.count).toBeLessThan(jobsLimit);
    // Leased deliveries are in flight or have been attempted. They are not released and leased repeatedly.
    const [taken] = await query<{ unused: number }>(
      `select sum(lease - jsonb_array_length(attempts))::integer as unused from webhooks.deliveries where tries > 0`,
    );
    expect(taken?.unused).toBeLessThan(jobsLimit);

    for (const { id, path } of healthy) {
      const log = await waitUntil(
        async () => {
          const ended = await query<{ status: string; attempts: number }>(
            'select status, jsonb_array_length(attempts) as attempts from webhooks.delivery_log where webhook_id = $1',
            [id],
          );
          return ended.length === eventsOfHealthy && ended;
        },
        { what: 'the log of the healthy endpoints' },
      );
      expect(log).toEqual(log.map(() => ({ status: 'delivered', attempts: 1 })));
      expect(receiver.requests(path)).toHaveLength(eventsOfHealthy);
    }
  });
});
