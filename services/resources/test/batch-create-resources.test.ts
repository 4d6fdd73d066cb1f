import { idTime } from '@rms/base/ids';
import { perSuite } from '@rms/testkit';
import { countsOf, createOne, eventsOf, itemOf, newCaller, startResources } from './support.ts';

describe('BatchCreateResources', () => {
  const rms = perSuite(() => startResources(2));

  test('a new resource is active, its creation time matches its id, and its event is in the outbox', async () => {
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
          input_type: 'standard',
          status: 'active',
          name: 'Grüße 🎉',
          metadata: { a: '1', b: '2' },
          created_at: new Date(idTime(resource.id)).toISOString(),
          updated_at: new Date(idTime(resource.id)).toISOString(),
          version: 1,
        },
      },
    });
  });

  test.each([30, -30])('a system clock that is %i days off does not affect times and IDs', async (days) => {
    const context = newCaller();
    const realNow = Date.now;
    const offMs = days * 86_400_000;
    Date.now = () => realNow() + offMs;
    try {
      const resource = await createOne(rms.client, context);
      await rms.client.batchUpdateResources({ requests: [{ context, id: resource.id, name: 'other' }] });
      const events = await eventsOf(rms.database, context);
      const times = [idTime(resource.id), ...events.map(({ id }) => idTime(id))];
      times.push(...events.map(({ json }) => Date.parse(json.data.object.updated_at)));
      expect(times).toHaveLength(5);
      for (const time of times) expect(Math.abs(time - realNow())).toBeLessThan(60_000);
    } finally {
      Date.now = realNow;
    }
  });

  test('an invalid item is rejected and the other items of its batch are created', async () => {
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
    ['a lone surrogate', '{"k":"\\ud800"}'],
    ['invalid JSON', '{'],
  ])('metadata with %s is rejected', async (_, metadataJson) => {
    const context = newCaller();
    const { results } = await rms.client.batchCreateResources({ requests: [{ context, name: 'x', metadataJson }] });
    expect(() => itemOf(results[0])).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(await eventsOf(rms.database, context)).toEqual([]);
  });

  test('metadata at its limits is stored unchanged', async () => {
    const metadata = Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [`${i}${'🎉'.repeat(40 - `${i}`.length)}`, 'é'.repeat(500)]),
    );
    const resource = await createOne(rms.client, newCaller(), '🎉'.repeat(255), {
      metadataJson: JSON.stringify(metadata),
    });
    expect(JSON.parse(resource.metadataJson)).toEqual(metadata);
  });

  test('40 creates with one idempotency key on two instances create one resource and get one response', async () => {
    const context = newCaller();
    const request = { context, name: 'once', metadataJson: '{"a":"1"}', idempotencyKey: 'the key' };
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, i) => rms.clients[i % 2]?.batchCreateResources({ requests: [request] })),
    );
    const resources = responses.map((response) => itemOf(response?.results[0]));
    expect(
      new Set(resources.map((resource) => JSON.stringify(resource, (_, v) => (typeof v === 'bigint' ? `${v}` : v))))
        .size,
    ).toBe(1);
    expect(responses.filter((response) => !response?.results[0]?.replayed)).toHaveLength(1);
    expect(await eventsOf(rms.database, context)).toHaveLength(1);
    expect(await countsOf(rms.database, context)).toEqual([{ status: 'active', counted: 1, stored: 1 }]);
  });

  test('items of a batch with the same idempotency key create one resource', async () => {
    const context = newCaller();
    const request = { context, name: 'once', idempotencyKey: 'k' };
    const { results } = await rms.client.batchCreateResources({
      requests: [request, request, { ...request, name: 'x' }],
    });
    expect(itemOf(results[1]).id).toBe(itemOf(results[0]).id);
    expect(results[1]?.replayed).toBe(true);
    expect(() => itemOf(results[2])).toThrow(expect.objectContaining({ code: 'idempotency_key_reused' }));
  });

  test('the fingerprint ignores the order of metadata keys but not their values', async () => {
    const context = newCaller();
    const first = await createOne(rms.client, context, 'n', { metadataJson: '{"a":"1","b":"2"}', idempotencyKey: 'k' });
    const same = await createOne(rms.client, context, 'n', { metadataJson: '{"b":"2","a":"1"}', idempotencyKey: 'k' });
    expect(same.id).toBe(first.id);
    await expect(
      createOne(rms.client, context, 'n', { metadataJson: '{"a":"1","b":"3"}', idempotencyKey: 'k' }),
    ).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  test('an idempotency key applies only to its own workspace', async () => {
    const one = await createOne(rms.client, newCaller(), 'n', { idempotencyKey: 'shared' });
    const other = await createOne(rms.client, newCaller(), 'n', { idempotencyKey: 'shared' });
    expect(other.id).not.toBe(one.id);
  });

  test('an expired idempotency key creates a new resource', async () => {
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
