import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import type { RequestSchema } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { actorOfUser } from '@rms/rpc';
import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('Searching the request log', () => {
  const auth = perSuite(startAuth);

  const nowMs = Date.now();
  /** Stores requests with the IDs "0" (newest), "1", … In pairs, they start at the same time. */
  const fill = async (
    requests: readonly MessageInitShape<typeof RequestSchema>[],
    tenant = { workspaceId: newId('ws'), environment: Environment.LIVE },
  ) => {
    await auth.requests.batchReportRequests({
      requests: requests.map((request, i) => ({
        ...tenant,
        ...{ method: 'GET', route: '/v1/resources', status: 200, keyId: 'key_1', clientAddress: '192.0.2.1' },
        requestId: `${i}`,
        startTime: timestampFromMs(nowMs - Math.floor(i / 2) * 1_000),
        path: '/v1/resources',
        ...request,
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

  test('filters by method, route, status, error code, key, user, address and time', async () => {
    const tenant = await fill([
      { method: 'POST', status: 201 },
      { status: 404, route: '/v1/resources/:id', errorCode: 'not_found' },
      { status: 503, keyId: 'key_2', errorCode: 'service_unavailable' },
      { status: 499, clientAddress: '2001:db8::1' },
    ]);
    const user = actorOfUser(newId('usr'));
    const context = { actor: user };
    await auth.requests.batchReportRequests(
      {
        requests: [
          {
            ...tenant,
            ...{ requestId: '4', method: 'PATCH', route: '/v1/webhooks/:id', status: 200, actor: user },
            startTime: timestampFromMs(nowMs - 5_000),
          },
        ],
      },
      { context },
    );
    const found = async (filter: object) =>
      idsOf(await auth.requests.searchRequests({ ...tenant, ...filter, pageSize: 10 }));
    expect(await found({ method: 'POST' })).toEqual(['0']);
    expect(await found({ route: '/v1/resources/:id' })).toEqual(['1']);
    expect(await found({ route: '/v1/resources' })).toEqual(['0', '3', '2']);
    expect(await found({ route: '/v1/resources', method: 'GET' })).toEqual(['3', '2']);
    expect(await found({ method: 'GET' })).toEqual(['1', '3', '2']);
    expect(await found({ minStatus: 400, maxStatus: 499 })).toEqual(['1', '3']);
    expect(await found({ minStatus: 200, maxStatus: 299 })).toEqual(['0', '4']);
    expect(await found({ minStatus: 404, maxStatus: 503 })).toEqual(['1', '3', '2']);
    expect(await found({ errorCode: 'not_found' })).toEqual(['1']);
    expect(await found({ clientAddress: '2001:db8::1' })).toEqual(['3']);
    expect(await found({ actor: user })).toEqual(['4']);
    expect(await found({ actor: `user:${newId('usr')}` })).toEqual([]);
    expect(await found({ minStatus: 503, maxStatus: 503 })).toEqual(['2']);
    expect(await found({ keyId: 'key_2' })).toEqual(['2']);
    expect(await found({ since: timestampFromMs(nowMs) })).toEqual(['1', '0']);
    expect(await found({ until: timestampFromMs(nowMs) })).toEqual(['3', '2', '4']);
    expect(await found({ method: 'POST', keyId: 'key_2' })).toEqual([]);
  });

  test('pages lead through all requests and back, also past rows that do not match', async () => {
    const tenant = await fill(Array.from({ length: 7 }, (_, i) => ({ status: i % 2 === 0 ? 200 : 500 })));
    for (const [filter, expected] of [
      [{}, ['1', '0', '3', '2', '5', '4', '6']],
      [{ minStatus: 500, maxStatus: 599 }, ['1', '3', '5']],
      [{ route: '/v1/resources' }, ['1', '0', '3', '2', '5', '4', '6']],
      [{ keyId: 'key_1', minStatus: 200, maxStatus: 200 }, ['0', '2', '4', '6']],
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

  test('a page reads on after 5,000 rows that do not match, in both directions', async () => {
    const rows = Array.from({ length: 5_100 }, () => ({}));
    const tenant = await fill([{ status: 500 }, ...rows, { status: 500 }]);
    const search = { ...tenant, keyId: 'key_1', minStatus: 400, maxStatus: 500, pageSize: 1 };
    const first = await auth.requests.searchRequests(search);
    const second = await auth.requests.searchRequests({ ...search, pageToken: first.nextPageToken });
    expect([idsOf(first), idsOf(second), second.nextPageToken]).toEqual([['0'], ['5101'], '']);
    const back = await auth.requests.searchRequests({ ...search, pageToken: second.previousPageToken });
    expect([idsOf(back), back.previousPageToken]).toEqual([['0'], '']);
    // An index finds it immediately.
    const indexed = await auth.requests.searchRequests({ ...tenant, minStatus: 500, maxStatus: 500, pageSize: 2 });
    expect([idsOf(indexed), indexed.nextPageToken]).toEqual([['0', '5101'], '']);
  });

  test('both environments together return each request once, also if only one reads as many rows as it may', async () => {
    const workspaceId = newId('ws');
    await fill([...Array.from({ length: 5_001 }, () => ({})), { status: 404, requestId: 'live-old' }], {
      workspaceId,
      environment: Environment.LIVE,
    });
    const old = timestampFromMs(nowMs - 3_000_000);
    await fill(
      [
        { status: 404, requestId: 'sandbox-new' },
        { status: 404, requestId: 'sandbox-old', startTime: old },
      ],
      {
        workspaceId,
        environment: Environment.SANDBOX,
      },
    );
    const search = { workspaceId, keyId: 'key_1', minStatus: 400, maxStatus: 500, pageSize: 2 };
    const first = await auth.requests.searchRequests(search);
    const second = await auth.requests.searchRequests({ ...search, pageToken: first.nextPageToken });
    expect([idsOf(first), idsOf(second)]).toEqual([['sandbox-new', 'live-old'], ['sandbox-old']]);
    expect(second.nextPageToken).toBe('');
  });

  test('the most frequent status, route and key of failed requests are counted', async () => {
    const { workspace } = await auth.workspaces.createWorkspace({ name: 'w' });
    const tenant = { workspaceId: workspace?.id ?? '', environment: Environment.LIVE };
    const { key } = await auth.keys.createKey({ ...tenant, scope: Scope.READ, name: 'ci-deploy' });
    const keyId = key?.id ?? '';
    const period = { since: timestampFromMs(nowMs - 60_000), until: timestampFromMs(nowMs + 1) };
    expect(await auth.requests.summarizeFailures({ ...tenant, ...period })).toMatchObject({ requests: 0, status: 0 });
    await fill(
      [
        { status: 404, route: '/v1/resources/:id', keyId },
        { status: 404, route: '/v1/resources/:id', keyId: 'key_deleted' },
        { status: 503, route: '/v1/resources/:id', method: 'PATCH', keyId },
        { status: 429, errorCode: 'rate_limit_exceeded' },
        { status: 429, errorCode: 'quota_exceeded' },
        { status: 200, keyId },
        { status: 404, keyId, startTime: timestampFromMs(nowMs - 70_000) },
      ],
      tenant,
    );
    expect(await auth.requests.summarizeFailures({ ...tenant, ...period })).toMatchObject({
      ...{ requests: 3, status: 404, withStatus: 2, method: 'GET', route: '/v1/resources/:id', withRoute: 2 },
      ...{ keyId, keyName: 'ci-deploy', keyHint: key?.hint, withKey: 2 },
    });
    expect(await auth.requests.summarizeFailures({ ...tenant, ...period, rateLimited: true })).toMatchObject({
      ...{ requests: 1, status: 429, route: '/v1/resources', keyId: 'key_1', keyName: '', withKey: 1 },
    });
    const sandbox = { ...tenant, environment: Environment.SANDBOX };
    expect(await auth.requests.summarizeFailures({ ...sandbox, ...period })).toMatchObject({ requests: 0 });
    await expect(auth.requests.summarizeFailures(tenant)).rejects.toMatchObject({ code: 'invalid_request' });
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
