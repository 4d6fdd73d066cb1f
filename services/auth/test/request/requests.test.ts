import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { trimRequestCounts } from '../../src/request/request-queries.ts';
import { insertRequests } from '../../src/rpc/batch-report-requests.ts';
import { listRequestsWithId } from '../../src/rpc/list-requests.ts';
import { startAuth } from '../support.ts';

describe('The request log', () => {
  const auth = perSuite(startAuth);

  const requestOf = (requestId: string, startMs: number, workspaceId = 'ws_one') => ({
    workspaceId,
    environment: Environment.LIVE,
    requestId,
    startMs,
    traceId: '',
    status: 200,
    errorCode: '',
    keyId: '',
    limitedMs: -1,
  });

  const report = (...requests: ReturnType<typeof requestOf>[]) =>
    auth.requests.batchReportRequests({
      columns: {
        workspaceIds: requests.map(({ workspaceId }) => workspaceId),
        environments: requests.map(({ environment }) => environment),
        requestIds: requests.map(({ requestId }) => requestId),
        startTimesUs: requests.map(({ startMs }) => startMs * 1_000 + 1),
        traceIds: requests.map(({ traceId }) => traceId),
        methods: requests.map(() => 'GET'),
        routes: requests.map(() => '/v1/resources'),
        statuses: requests.map(({ status }) => status),
        errorCodes: requests.map(({ errorCode }) => errorCode),
        keyIds: requests.map(({ keyId }) => keyId),
        replayed: requests.map(() => false),
        authenticatedMs: requests.map(() => 0.5),
        limitedMs: requests.map(({ limitedMs }) => limitedMs),
        handledMs: requests.map(() => -1),
        durationsMs: requests.map(() => 2.5),
      },
    });

  test('stores repeated reports once and returns the newest first, with the hint and name of the key', async () => {
    const { workspace } = await auth.workspaces.createWorkspace({ name: 'w' });
    const workspaceId = workspace?.id ?? '';
    const { key } = await auth.keys.createKey({
      workspaceId,
      environment: Environment.LIVE,
      scope: Scope.READ,
      name: 'Mine',
    });
    const nowMs = Date.now();
    const older = { ...requestOf('again', nowMs - 1_000, workspaceId), keyId: key?.id ?? '', limitedMs: 1 };
    const newer = {
      ...requestOf('again', nowMs, workspaceId),
      status: 404,
      errorCode: 'not_found',
      traceId: 'ab'.repeat(16),
    };
    await report(older, newer);
    await report(older);
    const { requests } = await auth.requests.listRequests({ workspaceId, requestId: 'again' });
    expect(requests).toMatchObject([
      { status: 404, errorCode: 'not_found', traceId: 'ab'.repeat(16), keyHint: '', keyName: '' },
      {
        status: 200,
        errorCode: '',
        authenticatedMs: 0.5,
        limitedMs: 1,
        durationMs: 2.5,
        keyHint: key?.hint,
        keyName: 'Mine',
      },
    ]);
    expect(requests[0]?.limitedMs).toBeUndefined();
  });

  test('is separate per workspace and environment', async () => {
    await report(requestOf('mine', Date.now()));
    const list = (scope: { workspaceId: string; environment?: Environment }) =>
      auth.requests.listRequests({ ...scope, requestId: 'mine' }).then(({ requests }) => requests.length);
    expect(await list({ workspaceId: 'ws_one' })).toBe(1);
    expect(await list({ workspaceId: 'ws_one', environment: Environment.SANDBOX })).toBe(0);
    expect(await list({ workspaceId: 'ws_other' })).toBe(0);
    expect(await list({ workspaceId: '' })).toBe(0);
  });

  test('stores no request without a workspace', async () => {
    await report(requestOf('nobody', Date.now(), ''));
    expect((await auth.requests.listRequests({ workspaceId: '', requestId: 'nobody' })).requests).toEqual([]);
  });

  test('counts the requests that are left out: above the daily limit, and not recorded by gateways', async () => {
    const { pool } = auth.database;
    const columns = (requestIds: string[]) => ({
      workspaceIds: requestIds.map(() => 'ws_many'),
      environments: requestIds.map(() => 'live' as const),
      requestIds,
      startTimesUs: requestIds.map(() => Date.now() * 1_000),
      ...Object.fromEntries(
        ['traceIds', 'methods', 'routes', 'errorCodes', 'keyIds', 'actors', 'paths', 'clientAddresses'].map((name) => [
          name,
          requestIds.map(() => ''),
        ]),
      ),
      ...Object.fromEntries(
        ['statuses', 'authenticatedMs', 'limitedMs', 'handledMs', 'durationsMs'].map((name) => [
          name,
          requestIds.map(() => 1),
        ]),
      ),
      replayed: requestIds.map(() => false),
    });
    const none = { leftOut: [], maxPerDay: 3 };
    await insertRequests(pool, columns(['a', 'b']) as never, none);
    await insertRequests(pool, columns(['c', 'd', 'e']) as never, none);
    await insertRequests(pool, columns(['f']) as never, none);
    await auth.requests.batchReportRequests({
      leftOut: [
        { workspaceId: 'ws_many', environment: Environment.LIVE, requests: 40n },
        { workspaceId: 'ws_many', environment: Environment.SANDBOX, requests: 500n },
      ],
    });
    const search = (environment: Environment, filter = {}) =>
      auth.requests.searchRequests({ workspaceId: 'ws_many', environment, pageSize: 10, ...filter });
    const live = await search(Environment.LIVE);
    expect(live.requests).toHaveLength(3);
    expect(live.leftOut).toBe(43n);
    expect((await search(Environment.UNSPECIFIED)).leftOut).toBe(543n);
    const tomorrow = { since: timestampFromMs(Date.now() + 86_400_000) };
    expect((await search(Environment.LIVE, tomorrow)).leftOut).toBe(0n);
    expect((await auth.requests.listRequests({ workspaceId: 'ws_many', requestId: 'd' })).leftOut).toBe(543n);
    await trimRequestCounts(pool, 7);
    expect((await search(Environment.LIVE)).leftOut).toBe(43n);
    await pool.query("update auth.request_counts set day = day - 9 where workspace_id = 'ws_many'");
    await trimRequestCounts(pool, 7);
    expect((await search(Environment.UNSPECIFIED)).leftOut).toBe(0n);
  });

  test('ignores requests from a clock that is off by days, and stores the others', async () => {
    const dayMs = 24 * 3_600_000;
    const times = [-3, 0, 30].map((days) => Date.now() + days * dayMs);
    await report(...times.map((ms) => requestOf('clock', ms)));
    const { requests } = await auth.requests.listRequests({ workspaceId: 'ws_one', requestId: 'clock' });
    expect(requests).toHaveLength(1);
  });

  test('rejects reports without an environment or with columns of different lengths', async () => {
    const wrong = { ...requestOf('x', Date.now()), environment: Environment.UNSPECIFIED };
    await expect(report(wrong)).rejects.toMatchObject({ code: 'invalid_request' });
    const short = { requestIds: ['x'], environments: [Environment.LIVE] };
    await expect(auth.requests.batchReportRequests({ columns: short })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test('accepts the user of a request only in a call for this user', async () => {
    const request = {
      workspaceId: 'ws_one',
      environment: Environment.LIVE,
      requestId: 'by-user',
      startTime: timestampFromMs(Date.now()),
      method: 'PATCH',
      actor: 'user:usr_1',
    };
    for (const context of [{}, { actor: 'user:usr_2' }]) {
      const refused = auth.requests.batchReportRequests({ requests: [request] }, { context });
      await expect(refused).rejects.toMatchObject({ details: [expect.objectContaining({ field: 'actors' })] });
    }
    await auth.requests.batchReportRequests({ requests: [request] }, { context: { actor: 'user:usr_1' } });
    const { requests } = await auth.requests.listRequests({ workspaceId: 'ws_one', requestId: 'by-user' });
    expect(requests).toMatchObject([{ method: 'PATCH', actor: 'user:usr_1', keyId: '' }]);
  });

  test('accepts requests reported as messages', async () => {
    const request = {
      workspaceId: 'ws_one',
      environment: Environment.SANDBOX,
      requestId: 'message',
      startTime: timestampFromMs(Date.now()),
      method: 'PATCH',
      status: 200,
      handledMs: 3.5,
      durationMs: 4.5,
    };
    await auth.requests.batchReportRequests({ requests: [request] });
    const { requests } = await auth.requests.listRequests({ workspaceId: 'ws_one', requestId: 'message' });
    expect(requests).toMatchObject([{ ...request, startTime: expect.anything() }]);
    expect(requests[0]?.limitedMs).toBeUndefined();
  });

  test('reads a limited number of the requests with an ID that a client always sends', async () => {
    const scope = { workspaceId: 'ws_one', environments: ['live', 'sandbox'] as const, requestId: 'always-the-same' };
    await auth.database.pool.query(
      `insert into auth.requests (workspace_id, environment, request_id, started_at, trace_id, method, route, status,
                                  error_code, key_id, replayed, duration_ms)
       select 'ws_one', environment, 'always-the-same', now() - n * interval '1 microsecond', '', 'GET', '', 200, '', '',
              false, 1
         from generate_series(1, 5000) as n cross join unnest(array['live', 'sandbox']) as scope (environment)`,
    );
    await auth.database.pool.query('analyze auth.requests');
    const recorded: [text: string, values: unknown[]][] = [];
    const recording = {
      query: (text: string, values: unknown[]) => {
        recorded.push([text, values]);
        return auth.database.pool.query(text, values);
      },
    };
    const found = await listRequestsWithId(recording as never, scope, 100);
    const times = found.map(({ startedAt }) => startedAt.getTime());
    expect([times.length, [...times].sort((a, b) => b - a)]).toEqual([100, times]);
    const [[text, values] = ['', []]] = recorded;
    const { rows } = await auth.database.pool.query(`explain (analyze, format json) ${text}`, values);
    expect(rowsRead(rows[0]['QUERY PLAN'][0].Plan)).toBeLessThanOrEqual(200);
  });
});

type Plan = { 'Relation Name'?: string; 'Actual Rows': number; 'Actual Loops': number; Plans?: Plan[] };

/** Returns how many requests a plan has read. */
function rowsRead({
  'Relation Name': table = '',
  'Actual Rows': rows,
  'Actual Loops': loops,
  Plans = [],
}: Plan): number {
  return Plans.reduce((sum, plan) => sum + rowsRead(plan), table.startsWith('requests') ? rows * loops : 0);
}
