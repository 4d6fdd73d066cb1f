import { perSuite } from '@rms/testkit';
import { createOne, newCaller, startResources } from './support.ts';

describe('page tokens', () => {
  const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const;
  const ring = [[oldKey], [newKey, oldKey], [newKey]] as const;
  const rms = perSuite(() => startResources(3, (instance) => ring[instance as 0 | 1 | 2]));

  test('remain valid after a key rotation while the old key is a previous key', async () => {
    const [before, during, after] = rms.clients as [typeof rms.client, typeof rms.client, typeof rms.client];
    const context = newCaller();
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push((await createOne(before, context)).id);
    const page = (client: typeof rms.client, pageToken = '') =>
      client.listResources({ context, pageSize: 1, orderBy: 'created_at', pageToken });

    const first = await page(before);
    const second = await page(during, first.nextPageToken);
    const third = await page(after, second.nextPageToken);
    expect([first, second, third].flatMap(({ resources }) => resources.map(({ id }) => id))).toEqual(ids);
    const refused = { code: 'invalid_request', details: [{ field: 'cursor', message: expect.any(String) }] };
    await expect(page(after, first.nextPageToken)).rejects.toMatchObject(refused);
    await expect(page(before, second.nextPageToken)).rejects.toMatchObject(refused);
  });
});
