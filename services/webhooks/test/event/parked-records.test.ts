import { newId } from '@rms/base/ids';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { disposable, perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { insertingLetters } from '../../src/event/dead-letter-queries.ts';
import type { DeadLetter } from '../../src/event/decode.ts';
import { newEvent, startWebhooks, type Tenant, toRecord } from '../support.ts';
import { failInserts } from './failing-inserts.ts';

describe('a tenant whose events cannot be stored', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);

  const subscribed = () => rms.newSubscriber(receiver.url, { ordered: true });
  const events = (tenant: Tenant, count: number, resourceId = newId('res')) =>
    Array.from({ length: count }, () => newEvent(tenant, 'resource.updated', 'thing', resourceId));
  const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);
  const parkedOf = async ({ workspaceId }: Tenant) =>
    (await rms.readDeadLetters(workspaceId)).filter((one) => one.parked);
  const eventIdsOf = async (tenant: Tenant) => (await parkedOf(tenant)).map(({ headers }) => headers['event-id']);
  const feedOf = async (tenant: Tenant) => idsOf((await rms.feed.listEvents({ ...tenant, pageSize: 1_000 })).events);
  const receivedOf = (ids: readonly string[]) =>
    receiver.requests.map(({ json }) => json.id as string).filter((id) => ids.includes(id));
  const gaugeOf = async (state: string) => {
    const { values } = await (rms.metrics.getSingleMetric('rms_dead_letters')?.get() ?? { values: [] });
    return values.find(({ labels }) => labels.state === state)?.value;
  };

  test('has its records parked, and later ones; the events of others are stored, and its own once and in order afterwards', async () => {
    const [stuck, other] = [await subscribed(), await subscribed()];
    const end = await failInserts(rms.database.pool, stuck);
    await using second = disposable(await startWebhooks({}, { given: rms.database }));
    const resourceId = newId('res');
    const [early, late, elsewhere] = [events(stuck, 3, resourceId), events(stuck, 2, resourceId), events(stuck, 2)];
    const free = newEvent(other);
    // The batch ends when the tenant's records are parked. Its partition continues.
    const published = rms.publish(...early);
    await waitUntil(async () => (await rms.health.check({})).status !== ServingStatus.SERVING, { what: 'a retry' });
    const next = rms.publish(free, ...late);
    await published;
    await next;
    await rms.settled(other, 1);
    expect(await eventIdsOf(stuck)).toEqual(idsOf([...early, ...late]));
    // Another instance, where the tenant has not failed yet.
    await second.publish(...elsewhere, newEvent(other));
    await rms.settled(other, 2);
    expect(await eventIdsOf(stuck)).toEqual(idsOf([...early, ...late, ...elsewhere]));
    expect((await parkedOf(stuck)).map(({ reason }) => reason)).toEqual(Array(7).fill('failed'));
    await waitUntil(async () => (await gaugeOf('parked')) === 7, { what: 'the gauge of parked records' });
    await waitUntil(async () => (await rms.health.check({})).status === ServingStatus.SERVING, {
      what: 'the service to become ready',
    });

    await end();
    await rms.settled(stuck, 7);
    expect(await feedOf(stuck)).toEqual(idsOf([...early, ...late, ...elsewhere]));
    expect(receivedOf(idsOf([...early, ...late]))).toEqual(idsOf([...early, ...late]));
    expect(receivedOf(idsOf(elsewhere))).toEqual(idsOf(elsewhere));
    expect(await parkedOf(stuck)).toEqual([]);

    // Later events are not parked, and a record that arrives again changes nothing.
    const [after] = events(stuck, 1, resourceId);
    await rms.publish(...early, ...(after ? [after] : []));
    await rms.settled(stuck, 8);
    expect(await feedOf(stuck)).toEqual(idsOf([...early, ...late, ...elsewhere, ...(after ? [after] : [])]));
    expect(await parkedOf(stuck)).toEqual([]);
  });

  test('stores its parked records up to the one that is refused, and after it; that one is kept', async () => {
    const tenant = await subscribed();
    const { pool } = rms.database;
    const all = events(tenant, 7);
    const refused = all[4];
    const end = await failInserts(pool, tenant, { sqlState: '22000', when: `new.id = '${refused?.id}'` });
    for (const event of all) await parkOne(event);
    await rms.settled(tenant, 6);
    const others = idsOf(all).filter((id) => id !== refused?.id);
    expect(await feedOf(tenant)).toEqual(others);
    expect(receivedOf(idsOf(all))).toEqual(others);
    expect(await rms.readDeadLetters(tenant.workspaceId)).toMatchObject([
      { headers: { 'event-id': refused?.id }, reason: 'refused', error: 'invalid page', parked: false },
    ]);
    await end();
  });

  /** Parks the record of an event, as an instance does that could not store it. */
  const parkOne = async (event: ReturnType<typeof newEvent>, { isRead = true } = {}) => {
    const record = { ...toRecord(event), partition: 0, offset: '0' };
    const letter = { record, ...(isRead && { event }), reason: 'failed', detail: '' };
    await rms.database.pool.query(insertingLetters('rms.resource-events.v1', [letter as DeadLetter]));
  };

  describe('a replay of dead letters', () => {
    test('stores a refused record whose reason is gone, as if it had just arrived', async () => {
      const tenant = await subscribed();
      const end = await failInserts(rms.database.pool, tenant, { sqlState: '22000' });
      const [event, other] = events(tenant, 2);
      if (event && other) await rms.publish(event, other);
      const [letter, ...more] = await rms.readDeadLetters(tenant.workspaceId);
      expect(letter).toMatchObject({ reason: 'refused', parked: false, headers: { 'event-id': event?.id } });
      expect(more).toHaveLength(1);

      // Refused again: it stays, with the new reason.
      const replay = (ids: readonly bigint[]) =>
        rms.deadLetters.replayDeadLetters({ selection: { case: 'ids', value: { ids: [...ids] } } });
      expect(await replay([letter?.id ?? 0n])).toMatchObject({ parked: 1, nextPageToken: '' });
      await waitUntil(async () => (await parkedOf(tenant)).length === 0, { what: 'the record to be refused' });
      expect(await rms.readDeadLetters(tenant.workspaceId)).toEqual([letter, ...more]);

      await end();
      expect(await replay([letter?.id ?? 0n, 999_999_999n])).toMatchObject({ parked: 1 });
      await rms.settled(tenant, 1);
      expect(receivedOf([event?.id ?? ''])).toEqual([event?.id]);
      expect(await rms.readDeadLetters(tenant.workspaceId)).toEqual(more);
      const { workspaceId } = tenant;
      await rms.deadLetters.replayDeadLetters({ selection: { case: 'workspaceId', value: workspaceId } });
      await rms.settled(tenant, 2);
      expect(await rms.readDeadLetters(workspaceId)).toEqual([]);
    });

    test('of all records keeps the unreadable ones unchanged', async () => {
      const poison = { key: 'res_\0', value: Buffer.from([0xff, 0, 0x80]), headers: { 'x-request-id': 'req_1' } };
      await rms.publishRecords(poison);
      const before = await rms.readDeadLetters();
      const { parked } = await rms.deadLetters.replayDeadLetters({ selection: { case: 'all', value: true } });
      expect(parked).toBeGreaterThan(0);
      await waitUntil(async () => (await rms.readDeadLetters()).every((one) => !one.parked), { what: 'the replay' });
      expect(await rms.readDeadLetters()).toEqual(before);
      expect(Buffer.from(before.at(-1)?.value ?? [])).toEqual(poison.value);
    });

    test('stores a record that an earlier version could not read', async () => {
      const tenant = await subscribed();
      const event = newEvent(tenant);
      await parkOne(event, { isRead: false });
      await rms.settled(tenant, 1);
      expect(await feedOf(tenant)).toEqual([event.id]);
      expect(await eventIdsOf(tenant)).toEqual([]);
    });

    test.each([
      [{}],
      [{ selection: { case: 'all' as const, value: false } }],
      [{ selection: { case: 'workspaceId' as const, value: '' } }],
      [{ selection: { case: 'ids' as const, value: { ids: [] } } }],
      [{ selection: { case: 'all' as const, value: true }, pageToken: 'x' }],
    ])('is refused without a selection, or with a wrong token: %j', async (request) => {
      await expect(rms.deadLetters.replayDeadLetters(request)).rejects.toMatchObject({ code: 'invalid_request' });
    });
  });

  test('pages of dead letters continue after each other', async () => {
    const values = Array.from({ length: 5 }, (_, i) => Buffer.from([0xff, 1, i]));
    await rms.publishRecords(...values.map((value) => ({ key: 'page', value, headers: {} })));
    const seen: Buffer[] = [];
    let pageToken = '';
    do {
      const page = await rms.deadLetters.listDeadLetters({ pageSize: 2, pageToken });
      expect(page.deadLetters.length).toBeLessThanOrEqual(2);
      for (const { key, value } of page.deadLetters) if (key === 'page') seen.push(Buffer.from(value));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(seen).toEqual(values);
  });
});
