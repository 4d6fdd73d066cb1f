import { newId } from '@rms/base/ids';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perTest } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

describe('/v1/replays', () => {
  const api = perTest(startGateway);
  const key = perTest(() => api.auth.newKey('admin'));

  const minimal = { webhook_id: 'wh_1', created_after: '2026-01-02T00:00:00Z' };
  const post = (json: unknown) => api.send('POST', '/v1/replays', { key, json });

  test('201: a replay with all fields, and its progress', async () => {
    const all = {
      statuses: ['failed', 'delivered'],
      event_types: ['resource.created', 'resource.deleted'],
      created_before: '2026-01-03T00:00:00Z',
      rate_per_second: 10,
    };
    const { status, body, headers } = await post({ ...minimal, ...all });
    expect(status).toBe(201);
    expect(headers.etag).toBeDefined();
    expect(body.data).toMatchObject({
      id: expect.stringMatching(/^rpl_/),
      type: 'replay',
      status: 'running',
      matching: 42,
      sent: 7,
      rate_per_second: 100,
      estimated_end_at: expect.stringMatching(/Z$/),
    });
    expect(api.deliveries.replays).toMatchObject([
      {
        webhookId: 'wh_1',
        statuses: [DeliveryStatus.FAILED, DeliveryStatus.DELIVERED],
        eventTypes: ['resource.created', 'resource.deleted'],
        perSecond: 10,
        dryRun: false,
      },
    ]);
  });

  test('200: a dry run returns the number and the duration', async () => {
    const { status, body } = await post({ ...minimal, dry_run: true });
    expect([status, body]).toEqual([
      200,
      { data: { matching: 42, matching_is_minimum: false, estimated_seconds: 0.42 } },
    ]);
  });

  test('200: the list, one replay and its cancellation', async () => {
    const list = await api.send('GET', '/v1/replays', { key });
    expect([list.status, list.body.data.length, list.body.data[0].status]).toEqual([200, 1, 'done']);
    const path = `/v1/replays/${newId('rpl')}`;
    const { body, headers } = await api.send('GET', path, { key });
    expect(body.data).toMatchObject({ status: 'running', statuses: ['failed'], event_types: [] });
    const again = await api.send('GET', path, { key, headers: { 'If-None-Match': headers.etag ?? '' } });
    expect(again.status).toBe(304);
    const canceled = await api.send('POST', `${path}/cancel`, { key });
    expect([canceled.status, canceled.body.data.status, canceled.body.data.estimated_end_at]).toEqual([
      200,
      'canceled',
      null,
    ]);
  });

  test.each([
    ['webhook_id', { created_after: minimal.created_after }],
    ['created_after', { webhook_id: 'wh_1' }],
    ['created_after', { ...minimal, created_after: 'today' }],
    ['created_after', { ...minimal, created_after: 0 }],
    ['created_before', { ...minimal, created_before: null }],
    ['statuses', { ...minimal, statuses: [] }],
    ['statuses', { ...minimal, statuses: 'failed' }],
    ['statuses.0', { ...minimal, statuses: ['canceled'] }],
    ['event_types.0', { ...minimal, event_types: ['*'] }],
    ['rate_per_second', { ...minimal, rate_per_second: 0 }],
    ['rate_per_second', { ...minimal, rate_per_second: 10_001 }],
    ['rate_per_second', { ...minimal, rate_per_second: 1.5 }],
    ['dry_run', { ...minimal, dry_run: 'true' }],
    ['webhook_id', { ...minimal, webhook_id: '\u0000' }],
    ['other', { ...minimal, other: 1 }],
    ['body', []],
  ])('400: an invalid %s (%#)', async (field, json) => {
    const { status, body } = await post(json);
    const fields = new Set(body.error.details.map((one: { field: string }) => one.field));
    expect([status, [...fields]]).toEqual([400, [field]]);
    expect(api.deliveries.replays).toEqual([]);
  });
});
