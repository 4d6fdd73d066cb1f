import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('Searching the request log', () => {
  const auth = perSuite(startAuth);

  const nowMs = Date.now();
  /** Stores requests with the IDs "0" (newest), "1", … In pairs, they start at the same time. */
  const fill = async (requests: readonly { method?: string; route?: string; status?: number; keyId?: string }[]) => {
    const tenant = { workspaceId: newId('ws'), environment: Environment.LIVE };
    await auth.requests.batchReportRequests({
      requests: requests.map(({ method = 'GET', route = '/v1/resources', status = 200, keyId = 'key_1' }, i) => ({
        ...tenant,
        ...{ method, route, status, keyId },
        requestId: `${i}`,
        startTime: timestampFromMs(nowMs - Math.floor(i / 2) * 1_000),
        path: '/v1/resources',
        clientAddress: '192.0.2.1',
      })),
    });
    return tenant;
  };
  const idsOf = ({ requests }: { requests: readonly { requestId: string }[] }) => requests.map((one) => one.requestId);

  test('returns the path and the client address, newest first', async () => {
    const tenant = await fill([{}, {}, {}]);
    const found = await auth.requests.searchRequests({ ...tenant, pageSize: 10 });
    expect(idsOf(found)).toEqual(['1', '0', '2']);
    expect(found.requests[0]).toMatchObject({ path: '/v1/resources', clientAddress: '192.0.2.1', keyId: 'key_1' });
    expect(found).toMatchObject({ nextPageToken: '', previousPageToken: '', page: 1, pageSize: 10 });
    expect(idsOf(await auth.requests.searchRequests({ ...tenant, environment: 0, pageSize: 10 }))).toHaveLength(3);
    const others = [
      { ...tenant, workspaceId: newId('ws') },
      { ...tenant, environment: Environment.SANDBOX },
    ];
    for (const other of others) {
      expect((await auth.requests.searchRequests({ ...other, pageSize: 10 })).requests).toEqual([]);
    }
  });

  test('filters by method, route, status, key and time', async () => {
    const tenant = await fill([
      { method: 'POST', status: 201 },
      { status: 404, route: '/v1/resources/:id' },
      { status: 503, keyId: 'key_2' },
      { status: 499 },
    ]);
    const found = async (filter: object) =>
      idsOf(await auth.requests.searchRequests({ ...tenant, ...filter, pageSize: 10 }));
    expect(await found({ method: 'POST' })).toEqual(['0']);
    expect(await found({ route: '/v1/resources/:id' })).toEqual(['1']);
    expect(await found({ minStatus: 400, maxStatus: 499 })).toEqual(['1', '3']);
    expect(await found({ minStatus: 503, maxStatus: 503 })).toEqual(['2']);
    expect(await found({ keyId: 'key_2' })).toEqual(['2']);
    expect(await found({ since: timestampFromMs(nowMs) })).toEqual(['1', '0']);
    expect(await found({ until: timestampFromMs(nowMs) })).toEqual(['3', '2']);
    expect(await found({ method: 'POST', keyId: 'key_2' })).toEqual([]);
  });

  test('pages lead through all requests and back, also past rows that do not match', async () => {
    const tenant = await fill(Array.from({ length: 7 }, (_, i) => ({ status: i % 2 === 0 ? 200 : 500 })));
    for (const [filter, expected] of [
      [{}, ['1', '0', '3', '2', '5', '4', '6']],
      [{ minStatus: 500, maxStatus: 599 }, ['1', '3', '5']],
    ] as const) {
      const pages = [await auth.requests.searchRequests({ ...tenant, ...filter, pageSize: 2 })];
      for (let token = pages[0]?.nextPageToken; token; token = pages.at(-1)?.nextPageToken) {
        pages.push(await auth.requests.searchRequests({ ...tenant, ...filter, pageSize: 2, pageToken: token }));
      }
      expect(pages.flatMap(idsOf)).toEqual(expected);
      const back = [pages.at(-1) as (typeof pages)[number]];
      for (let token = back[0]?.previousPageToken; token; token = back[0]?.previousPageToken) {
        back.unshift(await auth.requests.searchRequests({ ...tenant, ...filter, pageSize: 2, pageToken: token }));
      }
      expect(back.map(idsOf)).toEqual(pages.map(idsOf));
    }
  });

  test('a page ends after 5,000 rows that do not match, and the next one continues', async () => {
    const tenant = await fill([...Array.from({ length: 5_100 }, () => ({})), { status: 500 }]);
    const errors = { ...tenant, minStatus: 500, maxStatus: 500, pageSize: 2 };
    const first = await auth.requests.searchRequests(errors);
    expect([idsOf(first), first.nextPageToken === '']).toEqual([[], false]);
    const second = await auth.requests.searchRequests({ ...errors, pageToken: first.nextPageToken });
    expect([idsOf(second), second.nextPageToken]).toEqual([['5100'], '']);
  });

  test('a page token of another search or another workspace is rejected', async () => {
    const tenant = await fill([{}, {}, {}]);
    const { nextPageToken: pageToken } = await auth.requests.searchRequests({ ...tenant, pageSize: 1 });
    for (const change of [{ method: 'POST' }, { workspaceId: newId('ws') }, { pageToken: `${pageToken}x` }]) {
      await expect(
        auth.requests.searchRequests({ ...tenant, pageToken, pageSize: 1, ...change }),
      ).rejects.toMatchObject({ code: 'invalid_request' });
    }
    await expect(auth.requests.searchRequests({ ...tenant, pageSize: 101 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
