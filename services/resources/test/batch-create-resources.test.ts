import { idTime } from '@rms/ids';
import { countsOf, createOne, eventsOf, itemOf, newCaller, startResources } from './support.ts';

describe('BatchCreateResources', () => {
  let rms: Awaited<ReturnType<typeof startResources>>;
  beforeAll(async () => {
    rms = await startResources(2);
  });
  afterAll(() => rms?.stop());

  test('a resource is active, its time of creation is the one in its id, and its event is in the outbox', async () => {
    const context = newCaller();
    const resource = await createOne(rms.client, context, 'Grüße 🎉', { metadataJson: '{"b":"2","a":"1"}' });
    expect(resource.name).toBe('Grüße 🎉');
    expect(resource.metadataJson).toBe('{"b":"2","a":"1"}');
    expect(Number(resource.createTime?.seconds) * 1000 + Number(resource.createTime?.nanos) / 1e6).toBe(
      idTime(resource.id),
    );
    const [event, ...others] = await eventsOf(rms.database, context);
    expect(others).toEqual([]);
    expect(event).toMatchObject({ type: 'resource.created', resourceId: resource.id, requestId: context.requestId });
    expect(event?.sequence).toBe(1n);
    expect(event?.json).toEqual({
      id: event?.id,
      type: 'resource.created',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: {
        object: {
          id: resource.id,
          type: 'resource',
          status: 'active',
          name: 'Grüße 🎉',
          metadata: { a: '1', b: '2' },
          created_at: new Date(idTime(resource.id)).toISOString(),
          updated_at: new Date(idTime(resource.id)).toISOString(),
        },
      },
    });
  });

  test('a wrong item is refused by itself; the others of its batch are created', async () => {
    const context = newCaller();
    const names = ['one', '', 'two', 'x'.repeat(256), 'nul\u0000'];
    const { results } = await rms.client.batchCreateResources({ requests: names.map((name) => ({ context, name })) });
    expect(results.map(({ result }) => result.case)).toEqual(['resource', 'error', 'resource', 'error', 'error']);
    expect(() => itemOf(results[1])).toThrow(
      expect.objectContaining({ code: 'invalid_request', details: [{ field: 'name', message: expect.any(String) }] }),
    );
    expect(await countsOf(rms.database, context)).toEqual([{ status: 'active', counted: 2, stored: 2 }]);
  });

  test.each([
    ['51 pairs', JSON.stringify(Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 'v'])))],
    ['a key of 41 characters', JSON.stringify({ ['k'.repeat(41)]: 'v' })],
    ['a value of 501 characters', JSON.stringify({ k: '🎉'.repeat(501) })],
    ['an empty key', '{"":"v"}'],
    ['a number', '{"k":1}'],
    ['an array', '[]'],
    ['half of a surrogate pair', '{"k":"\\ud800"}'],
    ['no JSON', '{'],
  ])('metadata with %s is refused', async (_, metadataJson) => {
    const context = newCaller();
    const { results } = await rms.client.batchCreateResources({ requests: [{ context, name: 'x', metadataJson }] });
    expect(() => itemOf(results[0])).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(await eventsOf(rms.database, context)).toEqual([]);
  });

  test('metadata at its limits is kept as it is', async () => {
    const metadata = Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [`${i}${'🎉'.repeat(40 - `${i}`.length)}`, 'é'.repeat(500)]),
    );
    const resource = await createOne(rms.client, newCaller(), '🎉'.repeat(255), {
      metadataJson: JSON.stringify(metadata),
    });
    expect(JSON.parse(resource.metadataJson)).toEqual(metadata);
  });

  test('40 creates with one idempotency key, through two instances, make one resource and get one answer', async () => {
    const context = newCaller();
    const request = { context, name: 'once', metadataJson: '{"a":"1"}', idempotencyKey: 'the key' };
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => rms.clients[i % 2]?.batchCreateResources({ requests: [request] })),
    );
    const resources = answers.map((answer) => itemOf(answer?.results[0]));
    expect(
      new Set(resources.map((resource) => JSON.stringify(resource, (_, v) => (typeof v === 'bigint' ? `${v}` : v))))
        .size,
    ).toBe(1);
    expect(answers.filter((answer) => !answer?.results[0]?.replayed)).toHaveLength(1);
    expect(await eventsOf(rms.database, context)).toHaveLength(1);
    expect(await countsOf(rms.database, context)).toEqual([{ status: 'active', counted: 1, stored: 1 }]);
  });

  test('several items of one batch with one key are one creation', async () => {
    const context = newCaller();
    const request = { context, name: 'once', idempotencyKey: 'k' };
    const { results } = await rms.client.batchCreateResources({
      requests: [request, request, { ...request, name: 'x' }],
    });
    expect(itemOf(results[1]).id).toBe(itemOf(results[0]).id);
    expect(results[1]?.replayed).toBe(true);
    expect(() => itemOf(results[2])).toThrow(expect.objectContaining({ code: 'idempotency_key_reused' }));
  });

  test('the order of metadata does not make another request; another value does', async () => {
    const context = newCaller();
    const first = await createOne(rms.client, context, 'n', { metadataJson: '{"a":"1","b":"2"}', idempotencyKey: 'k' });
    const same = await createOne(rms.client, context, 'n', { metadataJson: '{"b":"2","a":"1"}', idempotencyKey: 'k' });
    expect(same.id).toBe(first.id);
    await expect(
      createOne(rms.client, context, 'n', { metadataJson: '{"a":"1","b":"3"}', idempotencyKey: 'k' }),
    ).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  test('one key means nothing to another workspace', async () => {
    const one = await createOne(rms.client, newCaller(), 'n', { idempotencyKey: 'shared' });
    const other = await createOne(rms.client, newCaller(), 'n', { idempotencyKey: 'shared' });
    expect(other.id).not.toBe(one.id);
  });

  test('after its 24 hours a key makes a new resource', async () => {
    const context = newCaller();
    const first = await createOne(rms.client, context, 'n', { idempotencyKey: 'k' });
    await rms.database.pool.query(
      "update resources.idempotency_keys set expires_at = now() - interval '1 second' where workspace_id = $1",
      [context.principal?.workspaceId],
    );
    const second = await createOne(rms.client, context, 'other body', { idempotencyKey: 'k' });
    expect(second.id).not.toBe(first.id);
    const again = await createOne(rms.client, context, 'other body', { idempotencyKey: 'k' });
    expect(again.id).toBe(second.id);
  });
});
