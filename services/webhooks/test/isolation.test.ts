import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/ids';
import { freePort, type HostileReceiver, startHostileReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks } from './support.ts';

const deadOfEach = 60;
const dueRetries = 50_000;
const eventsOfHealthy = 60;
/** Resources that these events are of. */
const lanes = 12;
/** What an instance holds at most, and what endpoints of one workspace that fail may have under way. */
const jobsLimit = 5_000;
const failingOfWorkspace = 256;

describe('dead endpoints with a large backlog, in one instance', () => {
  let rms: Webhooks;
  let receiver: HostileReceiver;
  beforeAll(async () => {
    rms = await startWebhooks();
    receiver = await startHostileReceiver();
  });
  afterAll(async () => {
    // Attempts under way end with their connections.
    await receiver?.stop();
    await rms?.stop();
  });

  const query = async <T extends object>(text: string, values: unknown[] = []) =>
    (await rms.database.pool.query<T>(text, values)).rows;
  const subscribe = async (tenant: Tenant, url: string, events: string[], ordered = false) => {
    const { webhook } = await rms.webhooks.createWebhook({ ...tenant, url, events });
    const retryPolicy = { maxRetries: 5, initialDelay: durationFromMs(3_600_000), maxDelay: durationFromMs(3_600_000) };
    await rms.webhooks.updateWebhook({ ...tenant, id: webhook?.id ?? '', ordered, retryPolicy });
    return webhook?.id ?? '';
  };
  const eventsOf = (tenant: Tenant) => {
    const resourceIds = Array.from({ length: lanes }, () => newId('res'));
    return Array.from({ length: eventsOfHealthy }, (_, i) => ({
      ...newEvent(tenant, 'resource.created', `${i}`, resourceIds[i % lanes]),
      sequence: BigInt(Math.floor(i / lanes) + 1),
    }));
  };
  /** Retries of an event, due for long, so many for each webhook. */
  const makeDue = (eventId: string, webhookIds: string[], each: number) =>
    query(
      `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        sequence, request_id, tries, due_at)
       select e.workspace_id, e.environment, 'dlv_' || substr(e.id, 5, 10) || substr(md5(w.id || n), 1, 16), e.id, w.id,
              e.type, e.resource_id, 1, e.request_id, 1, now() - interval '1 hour'
         from webhooks.events as e, unnest($2::text[]) as w (id), generate_series(1, $3) as n
        where e.id = $1`,
      [eventId, webhookIds, each],
    );

  test('delay no healthy one, of their workspace or of another, and the instance keeps its bounds', async () => {
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
      await receiver.behave(`/broken/${i}`, { kind: 'answer', status: 500 });
      // The last tenant has a healthy endpoint only.
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
    for (const [eventId, dead] of backlogs) {
      await makeDue(eventId, dead, Math.ceil(dueRetries / deadOfEach / backlogs.length));
    }
    await waitUntil(() => tenants.slice(0, -1).every((_, i) => receiver.requests(`/silent/${i}`).length >= 15), {
      what: 'attempts that hang',
    });

    // Fresh ones for the dead as well, so that all of it goes on while the healthy are served.
    const events = tenants.map(eventsOf);
    for (let i = 0; i < eventsOfHealthy; i += 20) {
      const fresh = tenants.map((tenant) => newEvent(tenant, 'resource.deleted'));
      await rms.publish(...events.flatMap((of) => of.slice(i, i + 20)), ...fresh);
    }
    const arrived = (path: string) => new Set(receiver.requests(path).map(({ eventId }) => eventId)).size;
    await waitUntil(() => healthy.every(({ path }) => arrived(path) === eventsOfHealthy), { what: 'the healthy ones' });
    // Before any attempt that hangs has ended.
    const [ended] = await query<{ count: number }>(
      'select count(*)::integer from webhooks.deliveries where webhook_id = any($1) and jsonb_array_length(attempts) > 0',
      [hanging],
    );
    expect(ended?.count).toBe(0);
    expect(hanging.length).toBeGreaterThan(deadOfEach);

    for (const [i] of tenants.entries()) {
      const underWay = receiver.requests(`/silent/${i}`).length + receiver.requests(`/drip/${i}`).length;
      expect(underWay).toBeLessThanOrEqual(failingOfWorkspace);
    }
    const [leased] = await query<{ count: number }>(
      `select count(*)::integer from webhooks.deliveries where due_at > now() and due_at < now() + interval '20 s'`,
    );
    expect(leased?.count).toBeLessThan(jobsLimit);
    // What is taken is attempted, or under way; it is not given back and taken again and again.
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
        { what: 'the log of the healthy ones' },
      );
      expect(log).toEqual(log.map(() => ({ status: 'delivered', attempts: 1 })));
      expect(receiver.requests(path)).toHaveLength(eventsOfHealthy);
    }
  });
});
