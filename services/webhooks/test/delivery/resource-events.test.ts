import { newId } from '@rms/base/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { disposable, perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant } from '../support.ts';

describe('the events of a resource', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);

  const read = (tenant: Tenant, resourceId: string, pageSize = 100, pageToken = '') =>
    rms.feed.listEventsOfResource({ ...tenant, resourceId, pageSize, pageToken });
  const publishEvents = async (tenant: Tenant, resourceId: string, count: number) => {
    const events = Array.from({ length: count }, (_, i) =>
      newEvent(tenant, i === 0 ? 'resource.created' : 'resource.updated', 'thing', resourceId),
    );
    await rms.publish(...events);
    return events;
  };

  test('are listed without a webhook, newest first, with their bodies', async () => {
    const tenant = newTenant();
    const resourceId = newId('res');
    const [first, second] = await publishEvents(tenant, resourceId, 2);
    await publishEvents(tenant, newId('res'), 1);
    const { events, nextPageToken } = await read(tenant, resourceId);
    expect(nextPageToken).toBe('');
    expect(events).toMatchObject([
      { id: second?.id, type: 'resource.updated', sequence: 2n, position: 2n, requestId: second?.requestId },
      { id: first?.id, type: 'resource.created', sequence: 1n, position: 1n, deliveries: [], hasMoreDeliveries: false },
    ]);
    expect(Buffer.from(events[0]?.body ?? []).toString()).toBe(Buffer.from(second?.body ?? []).toString());
    expect(events[0]?.createTime).toEqual(second?.createTime);
  });

  test('contain the actor of the change, also when listed by request', async () => {
    const tenant = newTenant();
    const resourceId = newId('res');
    const event = { ...newEvent(tenant, 'resource.created', 'thing', resourceId), actor: 'user:usr_1' };
    await rms.publish(event);
    expect((await read(tenant, resourceId)).events).toMatchObject([{ id: event.id, actor: 'user:usr_1' }]);
    const { requestId } = event;
    const { events } = await rms.feed.listEventsOfRequest({ ...tenant, requestId });
    expect(events).toMatchObject([{ id: event.id, actor: 'user:usr_1' }]);
  });

  test('a page with large bodies has fewer events, and the next page continues after it', async () => {
    const tenant = newTenant();
    const resourceId = newId('res');
    const large = 'x'.repeat(300 * 1024);
    const sent = Array.from({ length: 5 }, () => newEvent(tenant, 'resource.updated', large, resourceId));
    for (const event of sent) await rms.publish(event);
    const first = await read(tenant, resourceId);
    const second = await read(tenant, resourceId, 100, first.nextPageToken);
    expect([first.events.length, second.events.length, second.nextPageToken]).toEqual([3, 2, '']);
    const ids = [...first.events, ...second.events].map(({ id }) => id);
    expect(ids).toEqual(
      sent
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
  });

  test('have their deliveries per webhook, finished or not', async () => {
    const tenant = newTenant();
    await using other = disposable(await startReceiver());
    other.respondWith(500);
    const subscribe = async (url: string) => (await rms.subscribe(tenant, url, { events: ['resource.created'] })).id;
    const [works, fails] = [await subscribe(receiver.url), await subscribe(other.url)];
    const resourceId = newId('res');
    await publishEvents(tenant, resourceId, 2);
    const states = [DeliveryStatus.DELIVERED, DeliveryStatus.RETRYING];
    await waitUntil(
      async () => {
        const { events } = await read(tenant, resourceId);
        return events[1]?.deliveries.every(({ status }) => states.includes(status)) || undefined;
      },
      { what: 'both attempts' },
    );
    const { events } = await read(tenant, resourceId);
    expect(events[0]?.deliveries).toEqual([]);
    expect(events[1]?.deliveries).toMatchObject(
      [
        { webhookId: works, status: DeliveryStatus.DELIVERED, attemptCount: 1, statusCode: 200, error: '' },
        { webhookId: fails, status: DeliveryStatus.RETRYING, attemptCount: 1, statusCode: 500, error: 'status: 500' },
      ].sort((a, b) => (a.webhookId < b.webhookId ? -1 : 1)),
    );
  });

  test('are paged, each event once', async () => {
    const tenant = newTenant();
    const resourceId = newId('res');
    const created = await publishEvents(tenant, resourceId, 7);
    const ids: string[] = [];
    let pageToken = '';
    do {
      const page = await read(tenant, resourceId, 3, pageToken);
      expect(page.events.length).toBeLessThanOrEqual(3);
      ids.push(...page.events.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(ids).toEqual(created.map(({ id }) => id).reverse());
    const { nextPageToken } = await read(tenant, resourceId, 3);
    // A page token is bound to its request.
    await expect(read(newTenant(), resourceId, 3, nextPageToken)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(read(tenant, newId('res'), 3, nextPageToken)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('are not visible to another workspace or environment', async () => {
    const tenant = newTenant();
    const resourceId = newId('res');
    await publishEvents(tenant, resourceId, 1);
    expect((await read(newTenant(), resourceId)).events).toEqual([]);
    expect((await read({ ...tenant, environment: Environment.SANDBOX }, resourceId)).events).toEqual([]);
  });

  test.each([{ resourceId: '' }, { pageSize: 0 }, { pageSize: 101 }])('rejects %j', async (wrong: object) => {
    const request = { ...newTenant(), resourceId: newId('res'), pageSize: 10, ...wrong };
    await expect(rms.feed.listEventsOfResource(request)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
