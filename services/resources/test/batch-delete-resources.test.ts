import { fromStatusMessage } from '@rms/rpc';
import { perSuite } from '@rms/testkit';
import { countsOf, createOne, eventsOf, itemOf, newCaller, startResources } from './support.ts';

describe('BatchDeleteResources', () => {
  const rms = perSuite(startResources);

  test('a deletion removes the resource, decrements its total and emits its last state', async () => {
    const context = newCaller();
    const { id } = await createOne(rms.client, context, 'last name', { metadataJson: '{"a":"1"}' });
    const { results } = await rms.client.batchDeleteResources({ requests: [{ context, id }] });
    expect(results[0]?.error).toBeUndefined();
    const read = await rms.client.batchGetResources({ requests: [{ context, id }] });
    expect(() => itemOf(read.results[0])).toThrow(expect.objectContaining({ code: 'not_found' }));
    expect(await countsOf(rms.database, context)).toEqual([{ status: 'active', counted: 0, stored: 0 }]);
    const events = await eventsOf(rms.database, context);
    expect(events.map(({ type }) => type)).toEqual(['resource.created', 'resource.deleted']);
    expect(events[1]?.json.data.object).toMatchObject({ id, name: 'last name', metadata: { a: '1' }, version: 2 });
    const [created = 0, deleted] = events.map(({ json }) => Date.parse(json.data.object.updated_at));
    expect(deleted).toBeGreaterThan(created);
    expect(events[1]?.partition).toBe(events[0]?.partition);
  });

  test('concurrent deletions of the same resource, within and across batches, succeed exactly once', async () => {
    const context = newCaller();
    const { id } = await createOne(rms.client, context);
    const responses = await Promise.all(
      Array.from({ length: 5 }, () =>
        rms.client.batchDeleteResources({
          requests: [
            { context, id },
            { context, id },
          ],
        }),
      ),
    );
    const results = responses.flatMap((response) => response.results);
    expect(results.filter(({ error }) => !error)).toHaveLength(1);
    for (const { error } of results) if (error) expect(fromStatusMessage(error).code).toBe('not_found');
    expect(await eventsOf(rms.database, context)).toHaveLength(2);
  });

  test("a caller cannot delete another workspace's resource", async () => {
    const context = newCaller();
    const { id } = await createOne(rms.client, context);
    const { results } = await rms.client.batchDeleteResources({ requests: [{ context: newCaller(), id }] });
    expect(results[0]?.error).toBeDefined();
    expect(itemOf((await rms.client.batchGetResources({ requests: [{ context, id }] })).results[0]).id).toBe(id);
  });
});
