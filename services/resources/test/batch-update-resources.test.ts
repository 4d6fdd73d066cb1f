import { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { perSuite } from '@rms/testkit';
import { countsOf, createOne, eventsOf, itemOf, newCaller, startResources } from './support.ts';

describe('BatchUpdateResources', () => {
  const rms = perSuite(() => startResources(2));

  const update = async (context: ReturnType<typeof newCaller>, id: string, changes: object) =>
    itemOf((await rms.client.batchUpdateResources({ requests: [{ context, id, ...changes }] })).results[0]);

  test.each([
    ['name', { name: 'new' }, ['resource.updated'], { name: 'old' }],
    ['metadata', { metadataJson: '{"b":"2"}' }, ['resource.updated'], { metadata: { a: '1' } }],
    [
      'status',
      { status: ResourceStatus.ARCHIVED },
      ['resource.updated', 'resource.status_changed'],
      { status: 'active' },
    ],
    [
      'everything',
      { name: 'new', metadataJson: '{}', status: ResourceStatus.INACTIVE },
      ['resource.updated', 'resource.status_changed'],
      { name: 'old', metadata: { a: '1' }, status: 'active' },
    ],
    ['nothing', {}, [], {}],
    ['the same name, metadata in any order, and status', { name: 'old', metadataJson: '{"a":"1"}', status: 1 }, [], {}],
  ])('a change of %s emits the expected events', async (_, changes, types, previous) => {
    const context = newCaller();
    const before = await createOne(rms.client, context, 'old', { metadataJson: '{"a":"1"}' });
    const after = await update(context, before.id, changes);
    const [, ...events] = await eventsOf(rms.database, context);
    expect(events.map(({ type }) => type)).toEqual(types);
    expect(events.map(({ sequence }) => sequence)).toEqual(types.map((__, i) => BigInt(i + 2)));
    if (events[0]) expect(events[0].json.data.previous_attributes).toEqual(previous);
    if (events[1]) expect(events[1].json.data.previous_attributes).toEqual({ status: 'active' });
    const nanos = (time: typeof after.updateTime) => (time?.seconds ?? 0n) * 1_000_000_000n + BigInt(time?.nanos ?? 0);
    if (types.length === 0) expect(after).toEqual(before);
    else expect(nanos(after.updateTime)).toBeGreaterThan(nanos(before.updateTime));
  });

  test('several updates of the same resource in one batch are applied in order', async () => {
    const context = newCaller();
    const { id } = await createOne(rms.client, context, 'a');
    const requests = ['b', 'c', 'b'].map((name) => ({ context, id, name }));
    const { results } = await rms.client.batchUpdateResources({ requests });
    expect(results.map((result) => itemOf(result).name)).toEqual(['b', 'c', 'b']);
    const events = await eventsOf(rms.database, context);
    expect(events.map(({ json }) => json.data.previous_attributes?.name)).toEqual([undefined, 'a', 'b', 'c']);
    expect(events.map(({ sequence }) => sequence)).toEqual([1n, 2n, 3n, 4n]);
  });

  test('a resource of another workspace is not found', async () => {
    const { id } = await createOne(rms.client, newCaller());
    await expect(update(newCaller(), id, { name: 'x' })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('totals are exact and sequences are gapless after concurrent changes through two instances', async () => {
    const context = newCaller();
    const created = await Promise.all(
      Array.from({ length: 12 }, (_, i) => createOne(rms.clients[i % 2] ?? rms.client, context)),
    );
    const statuses = [ResourceStatus.ACTIVE, ResourceStatus.INACTIVE, ResourceStatus.ARCHIVED];
    await Promise.all(
      Array.from({ length: 150 }, (_, i) => {
        const client = rms.clients[i % 2] ?? rms.client;
        const id = created[(i * 7) % created.length]?.id ?? '';
        if (i % 10 === 9) return client.batchDeleteResources({ requests: [{ context, id: created[i % 3]?.id ?? '' }] });
        return client.batchUpdateResources({ requests: [{ context, id, status: statuses[i % 3] as ResourceStatus }] });
      }),
    );
    for (const { counted, stored } of await countsOf(rms.database, context)) expect(counted).toBe(stored);
    const sequences = new Map<string, bigint[]>();
    for (const { resourceId, sequence } of await eventsOf(rms.database, context)) {
      sequences.set(resourceId, [...(sequences.get(resourceId) ?? []), sequence]);
    }
    for (const list of sequences.values()) expect(list).toEqual(list.map((_, i) => BigInt(i + 1)));
  });
});
