import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { perSuite } from '@rms/testkit';
import { createOne, newCaller, startResources } from './support.ts';

describe('ListResources', () => {
  const rms = perSuite(startResources);

  const list = (context: ReturnType<typeof newCaller>, request: object = {}) =>
    rms.client.listResources({ context, pageSize: 20, ...request });

  /** Follows the next-page tokens to the end, then the previous-page tokens back to the start. */
  const walk = async (context: ReturnType<typeof newCaller>, request: object) => {
    const pages = [await list(context, request)];
    while (pages.at(-1)?.nextPageToken) {
      pages.push(await list(context, { ...request, pageToken: pages.at(-1)?.nextPageToken }));
    }
    const back = [pages.at(-1) as (typeof pages)[number]];
    while (back[0]?.previousPageToken)
      back.unshift(await list(context, { ...request, pageToken: back[0].previousPageToken }));
    const idsOf = (all: typeof pages) => all.map((page) => page.resources.map(({ id }) => id));
    expect(idsOf(back)).toEqual(idsOf(pages));
    return { pages, ids: idsOf(pages).flat() };
  };

  test('a name prefix matches the names that start with it, in both directions and with a status filter', async () => {
    const context = newCaller();
    const names = ['blue', 'blue one', 'blue two', 'bluebird', 'Blue', 'blu', 'red', 'blue\u{10FFFF}x', '%', '_'];
    for (const name of names) await createOne(rms.client, context, name);
    const found = async (request: object) => {
      const { pages } = await walk(context, { pageSize: 2, ...request });
      return pages.flatMap(({ resources }) => resources.map(({ name }) => name));
    };
    const wanted = ['Blue', 'blue', 'blue one', 'blue two', 'bluebird', 'blue\u{10FFFF}x'];
    expect(await found({ orderBy: 'name', namePrefix: 'blue' })).toEqual(wanted);
    expect(await found({ orderBy: '-name', namePrefix: 'blue', status: 1 })).toEqual([...wanted].reverse());
    expect(await found({ orderBy: 'name', namePrefix: 'blue', status: 3 })).toEqual([]);
    expect(await found({ orderBy: 'name', namePrefix: '%' })).toEqual(['%']);
    expect((await list(context, { orderBy: 'name', namePrefix: 'blue' })).totalSize).toBe(0n);
    for (const request of [{ namePrefix: 'blue' }, { orderBy: 'name', namePrefix: 'b'.repeat(256) }]) {
      await expect(list(context, request)).rejects.toMatchObject({
        code: 'invalid_request',
        details: [{ field: 'name_prefix' }],
      });
    }
    // A page token is bound to its prefix.
    const { nextPageToken: pageToken } = await list(context, { orderBy: 'name', namePrefix: 'blue', pageSize: 1 });
    await expect(list(context, { orderBy: 'name', pageToken, pageSize: 1 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test('a filter by metadata matches pairs exactly, follows changes and deletions, and combines with other filters', async () => {
    const context = newCaller();
    const made = new Map<string, string>();
    const make = async (name: string, metadata: object) => {
      const resource = await createOne(rms.client, context, name, { metadataJson: JSON.stringify(metadata) });
      made.set(name, resource.id);
    };
    await make('one', { team: 'blue', tier: '1' });
    await make('two', { team: 'blue', tier: '2', site: 'x' });
    await make('three', { team: 'Blue' });
    await make('four', { te: 'amblue', blue: 'team' });
    await make('five', { team: 'blue', tier: '1', site: 'x' });
    await createOne(rms.client, context, 'six');
    await createOne(rms.client, newCaller(), 'other tenant', { metadataJson: '{"team":"blue"}' });
    const found = async (metadata: object, request: object = {}) => {
      const { pages } = await walk(context, { metadataJson: JSON.stringify(metadata), pageSize: 2, ...request });
      expect(pages.every(({ totalSize }) => totalSize === 0n)).toBe(true);
      return pages.flatMap(({ resources }) => resources.map(({ name }) => name));
    };
    expect(await found({ team: 'blue' })).toEqual(['five', 'two', 'one']);
    expect(await found({ team: 'blue' }, { orderBy: 'created_at' })).toEqual(['one', 'two', 'five']);
    expect(await found({ tier: '1', team: 'blue', site: 'x' })).toEqual(['five']);
    expect(await found({ team: 'blue', tier: '3' })).toEqual([]);
    expect(await found({ team: 'blue' }, { namePrefix: 'T' })).toEqual(['two']);
    expect(await found(JSON.parse('{"__proto__":"x"}'))).toEqual([]);
    const change = (name: string, request: object) =>
      rms.client.batchUpdateResources({ requests: [{ context, id: made.get(name) ?? '', ...request }] });
    await change('one', { metadataJson: '{"team":"red"}' });
    await change('two', { status: 2 });
    expect(await found({ team: 'blue' })).toEqual(['five', 'two']);
    expect(await found({ team: 'red' })).toEqual(['one']);
    expect(await found({ team: 'blue' }, { status: 2 })).toEqual(['two']);
    await rms.client.batchDeleteResources({ requests: [{ context, id: made.get('five') ?? '' }] });
    expect(await found({ site: 'x' })).toEqual(['two']);
    for (const [request, field] of [
      [{ metadataJson: '{"a":"1","b":"2","c":"3","d":"4"}' }, 'metadata'],
      [{ metadataJson: '{"a":1}' }, 'metadata.a'],
      [{ metadataJson: '{"a":"1"}', orderBy: 'name' }, 'sort'],
    ] as const) {
      await expect(list(context, request)).rejects.toMatchObject({ code: 'invalid_request', details: [{ field }] });
    }
  });

  test('a page by metadata is filled by reads of 2,000 resources with the first pair', async () => {
    const context = newCaller();
    await createOne(rms.client, context, 'oldest', { metadataJson: '{"a":"1","b":"1"}' });
    for (let made = 0; made < 4_000; made += 1_000) {
      await rms.client.batchCreateResources({
        requests: Array.from({ length: 1_000 }, () => ({ context, name: 'r', metadataJson: '{"a":"1"}' })),
      });
    }
    const metadataJson = '{"a":"1","b":"1"}';
    const pages = [await list(context, { metadataJson })];
    while (pages.at(-1)?.nextPageToken) {
      pages.push(await list(context, { metadataJson, pageToken: pages.at(-1)?.nextPageToken }));
    }
    expect(pages.map(({ resources }) => resources.map(({ name }) => name))).toEqual([['oldest']]);
  });

  test('every sort returns each resource once, in order, in both directions, with and without a filter', async () => {
    const context = newCaller();
    const names = ['b', 'a', 'Z', 'é', '🎉'];
    for (let i = 0; i < 25; i += 1) await createOne(rms.client, context, names[i % 5]);
    const { resources } = await list(context, { pageSize: 100 });
    await rms.client.batchUpdateResources({
      requests: resources.map(({ id }, i) => ({ context, id, status: ((i % 3) + 1) as ResourceStatus })),
    });
    const now = (await list(context, { pageSize: 100 })).resources;
    const time = (t?: { seconds: bigint; nanos: number }) => String(Number(t?.seconds) * 1e3 + Number(t?.nanos) / 1e6);
    const keys = {
      created_at: ({ id }: (typeof now)[number]) => [id],
      updated_at: ({ id, updateTime }: (typeof now)[number]) => [time(updateTime), id],
      name: ({ id, name }: (typeof now)[number]) => [String(['a', 'b', 'é', 'Z', '🎉'].indexOf(name)), id],
    };
    for (const status of [0, 1, 2, 3]) {
      const wanted = now.filter((resource) => status === 0 || resource.status === status);
      for (const [field, keyOf] of Object.entries(keys)) {
        const sorted = wanted
          .map((resource) => ({ id: resource.id, key: keyOf(resource).join(' ') }))
          .sort((a, b) => (a.key < b.key ? -1 : 1))
          .map(({ id }) => id);
        for (const [orderBy, expected] of [
          [field, sorted],
          [`-${field}`, [...sorted].reverse()],
        ]) {
          const { ids, pages } = await walk(context, { orderBy, status, pageSize: 4 });
          expect(ids).toEqual(expected);
          for (const page of pages) expect(page.totalSize).toBe(BigInt(wanted.length));
        }
      }
    }
  });

  test('a page is bounded in bytes: pages of large resources are short, and no resource is lost', async () => {
    const context = newCaller();
    const value = '\u{1f525}'.repeat(500);
    const metadataJson = JSON.stringify(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key ${i}`, value])));
    const requests = Array.from({ length: 50 }, (_, i) => ({ context, name: `large ${i}`, metadataJson }));
    await rms.client.batchCreateResources({ requests });
    for (const orderBy of ['-created_at', 'name']) {
      const { pages, ids } = await walk(context, { pageSize: 100, orderBy });
      expect(new Set(ids).size).toBe(50);
      // A resource has 101 KB.
      expect(pages.map(({ resources }) => resources.length)).toEqual([10, 10, 10, 10, 10]);
      expect(pages.map(({ totalSize, pageSize }) => [totalSize, pageSize])).toEqual(pages.map(() => [50n, 100]));
      for (const { resources } of pages) for (const one of resources) expect(one.metadataJson).toBe(metadataJson);
    }
  });

  test('creations and deletions during paging neither hide nor repeat other resources', async () => {
    const context = newCaller();
    const stable: string[] = [];
    const passing: string[] = [];
    for (let i = 0; i < 20; i += 1) (i % 2 ? stable : passing).push((await createOne(rms.client, context)).id);
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = await list(context, { pageSize: 3, pageToken });
      seen.push(...page.resources.map(({ id }) => id));
      pageToken = page.nextPageToken;
      await createOne(rms.client, context);
      await rms.client.batchDeleteResources({ requests: [{ context, id: passing.pop() ?? '' }] });
    } while (pageToken);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => stable.includes(id))).toEqual([...stable].reverse());
  });

  test('a cursor is valid only for its own workspace, environment, filter and sort', async () => {
    const context = newCaller();
    for (let i = 0; i < 3; i += 1) await createOne(rms.client, context);
    const { nextPageToken: pageToken } = await list(context, { pageSize: 1 });
    const refused = expect.objectContaining({
      code: 'invalid_request',
      details: [expect.objectContaining({ field: 'cursor' })],
    });
    await expect(list(context, { pageToken, orderBy: 'name' })).rejects.toEqual(refused);
    await expect(list(context, { pageToken, status: 1 })).rejects.toEqual(refused);
    await expect(list(newCaller(), { pageToken })).rejects.toEqual(refused);
    const { workspaceId = '', keyId = '', scope = 0 } = context.principal ?? {};
    const sandbox = { requestId: 'r', principal: { workspaceId, keyId, scope, environment: Environment.SANDBOX } };
    await expect(list(sandbox, { pageToken })).rejects.toEqual(refused);
    await expect(list(context, { pageToken: 'nonsense' })).rejects.toEqual(refused);
    expect((await list(context, { pageToken })).page).toBe(2);
  });

  test('an empty list has one empty page', async () => {
    expect(await list(newCaller())).toMatchObject({
      resources: [],
      totalSize: 0n,
      page: 1,
      pageSize: 20,
      nextPageToken: '',
      previousPageToken: '',
    });
  });

  test.each([{ pageSize: 0 }, { pageSize: 101 }, { orderBy: 'status' }, { orderBy: '--name' }])(
    '%j is rejected',
    async (request) => {
      await expect(list(newCaller(), request)).rejects.toMatchObject({ code: 'invalid_request' });
    },
  );
});
