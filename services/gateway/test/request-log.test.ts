import { RmsError } from '@rms/base/errors';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite, shiftClock, waitUntil } from '@rms/testkit';
import { RequestLog, type RequestRecord } from '../src/requests/request-log.ts';
import { startGateway } from './support/start-gateway.ts';
import { send } from './support/wire.ts';

const silent = { warn() {}, error() {} } as never;
const record = (requestId: string, workspaceId = 'ws_1', status = 200) =>
  ({ requestId, workspaceId, environment: Environment.LIVE, status }) as RequestRecord;

describe('Reported requests', () => {
  const world = perSuite(startGateway);

  const reported = (requestId: string) =>
    waitUntil(() => world.auth.requests.find((one) => one.requestId === requestId), {
      what: `a report of ${requestId}`,
    });

  test('contain the outcome, the caller and the time of each step', async () => {
    const key = world.auth.newKey('write');
    const beforeMs = Date.now();
    const response = await world.send('POST', '/v1/resources', {
      key: key.value,
      json: { name: 'x' },
    });
    expect(response.status).toBe(201);
    const report = await reported(String(response.headers['x-request-id']));
    expect(report).toMatchObject({
      workspaceId: key.workspaceId,
      environment: Environment.LIVE,
      method: 'POST',
      route: '/v1/resources',
      status: 201,
      errorCode: '',
      keyId: key.keyId,
      path: '/v1/resources',
      clientAddress: '127.0.0.1',
      traceId: '',
    });
    const steps = [0, ...report.steps].map(Number);
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(Number(report.startTimeUs) / 1_000).toBeGreaterThanOrEqual(beforeMs - 1);
    expect(Number(report.startTimeUs) / 1_000).toBeLessThanOrEqual(Date.now() + 1);
  });

  test('have the time of the present clock, also if the clock was set while the gateway runs', async () => {
    const { value: key } = world.auth.newKey('read');
    const restore = shiftClock(30 * 86_400_000);
    try {
      const beforeMs = Date.now();
      const response = await world.send('GET', '/v1/resources', { key });
      const { startTimeUs } = await reported(String(response.headers['x-request-id']));
      expect(Number(startTimeUs) / 1_000).toBeGreaterThanOrEqual(beforeMs - 1);
      expect(Number(startTimeUs) / 1_000).toBeLessThanOrEqual(Date.now() + 1);
    } finally {
      restore();
    }
  });

  test.each(['http://api.example.com/v1/resources?per_page=7', 'HTTPS://API.example.com:443/v1/resources?per_page=7'])(
    'include a request with the absolute-form target %s, which is served like any other',
    async (target) => {
      const { value: key, keyId } = world.auth.newKey('read');
      const response = await send(world.gateway.addresses.live, 'GET', target, { key });
      expect([response.status, response.body.meta.per_page]).toEqual([200, 7]);
      const report = await reported(String(response.headers['x-request-id']));
      expect(report).toMatchObject({ method: 'GET', route: '/v1/resources', status: 200, keyId });
    },
  );

  test('contain the error code of a failed request, and no part of an unknown path; none without a valid key', async () => {
    const key = world.auth.newKey('read');
    const wrong = await world.send('GET', '/v1/resources?colour=red', { key: key.value });
    expect(await reported(String(wrong.headers['x-request-id']))).toMatchObject({
      status: 400,
      errorCode: 'invalid_request',
    });
    const invalid = await world.send('GET', '/v1/s3cr3t', { key: 's3cr3t' });
    expect(invalid.status).toBe(401);
    const unknown = await world.send('GET', '/v1/s3cr3t', { key: key.value });
    const report = await reported(String(unknown.headers['x-request-id']));
    expect(report).toMatchObject({ workspaceId: key.workspaceId, keyId: key.keyId, status: 404, path: '' });
    expect(world.auth.requests.map(({ requestId }) => requestId)).not.toContain(invalid.headers['x-request-id']);
    expect(JSON.stringify(world.auth.requests)).not.toContain('s3cr3t');
  });
});

describe('The request log', () => {
  const logTo = (
    batchReportRequests: (request: { columns: { requestIds: unknown[] } }) => Promise<never>,
    dropped = (_: number) => {},
  ) => new RequestLog({ auth: { batchReportRequests } as never, scope: 'all', dropped, log: silent });

  test('is reported in batches, and retried after an outage of auth', async () => {
    const batches: unknown[][] = [];
    let unavailable = true;
    const log = logTo(async ({ columns: { requestIds } }) => {
      if (unavailable) throw new RmsError('service_unavailable');
      batches.push(requestIds);
      return {} as never;
    });
    for (let i = 0; i < 1_500; i += 1) log.note(record(`r${i}`));
    await log.flush();
    expect(batches).toEqual([]);
    unavailable = false;
    for (let i = 1_500; i < 2_500; i += 1) log.note(record(`r${i}`));
    await log.flush();
    expect(batches.map(({ length }) => length)).toEqual([2_000, 500]);
    expect(batches.flat()).toEqual(Array.from({ length: 2_500 }, (_, i) => `r${i}`));
  });

  test('is bounded during an outage of auth, and counts lost records', async () => {
    let lost = 0;
    const log = logTo(
      async () => {
        throw new RmsError('service_unavailable');
      },
      (records) => {
        lost += records;
      },
    );
    for (let i = 0; i < 30_000; i += 1) {
      log.note(record(`r${i}`, `ws_${i % 10}`));
      if (i % 5_000 === 0) await log.flush();
    }
    expect(lost).toBeGreaterThanOrEqual(8_000);
    expect(lost).toBeLessThanOrEqual(10_000);
  });

  test('keeps at most 5,000 records of a workspace, so that it does not use up the space of others', async () => {
    let lost = 0;
    let isDown = true;
    const taken: unknown[] = [];
    const log = logTo(
      async ({ columns: { requestIds } }) => {
        if (isDown) throw new RmsError('service_unavailable');
        taken.push(...requestIds);
        return {} as never;
      },
      (records) => {
        lost += records;
      },
    );
    for (let i = 0; i < 20_000; i += 1) log.note(record(`busy ${i}`, 'ws_busy'));
    await log.flush();
    for (let i = 0; i < 10; i += 1) log.note(record(`calm ${i}`, 'ws_calm'));
    isDown = false;
    await log.flush();
    const countOf = (name: string) => taken.filter((id) => String(id).startsWith(name)).length;
    expect(countOf('calm')).toBe(10);
    // A batch that is being sent leaves its space to further records.
    expect(countOf('busy')).toBeLessThanOrEqual(7_000);
    expect(lost).toBeGreaterThanOrEqual(13_000);
  });

  test('drops records that auth rejects without blocking others', async () => {
    const lost: number[] = [];
    const taken: unknown[] = [];
    const log = logTo(
      async ({ columns: { requestIds } }) => {
        if (requestIds.includes('wrong')) throw new RmsError('invalid_request');
        taken.push(...requestIds);
        return {} as never;
      },
      (records) => lost.push(records),
    );
    log.note(record('wrong'));
    await log.flush();
    log.note(record('right'));
    await log.flush();
    expect([lost, taken]).toEqual([[1], ['right']]);
  });

  test('has 100 refused requests per workspace and minute, and the number of the others', async () => {
    const taken: unknown[] = [];
    const leftOut: { workspaceId: string; requests: bigint }[] = [];
    let isDown = true;
    const batchReportRequests = async (request: { columns: { requestIds: unknown[] }; leftOut: typeof leftOut }) => {
      if (isDown) throw new RmsError('service_unavailable');
      taken.push(...request.columns.requestIds);
      leftOut.push(...request.leftOut);
      return {} as never;
    };
    const log = logTo(batchReportRequests as never);
    for (let i = 0; i < 50; i += 1) {
      for (const status of [401, 403, 429]) log.note(record(`refused ${status}`, 'ws_refused', status));
      log.note(record('accepted', 'ws_refused', 404));
      if (i === 40) await log.flush();
    }
    for (let i = 0; i < 100; i += 1) log.note(record('other', 'ws_other', 403));
    isDown = false;
    await log.flush();
    const countOf = (start: string) => taken.filter((id) => String(id).startsWith(start)).length;
    expect([countOf('refused'), countOf('accepted'), countOf('other')]).toEqual([100, 50, 100]);
    expect(leftOut).toEqual([{ workspaceId: 'ws_refused', environment: Environment.LIVE, requests: 50n }]);
    await log.flush();
    expect(leftOut).toHaveLength(1);
  });

  test.each([
    ['all', ['GET 200', 'POST 201', 'GET 404']],
    ['writes', ['POST 201', 'GET 404']],
    ['none', []],
  ] as const)('records with REQUEST_LOG=%s: %j', (scope, wanted) => {
    const log = new RequestLog({ auth: {} as never, scope, dropped() {}, log: silent });
    const lookups = [
      ['GET', 200],
      ['POST', 201],
      ['GET', 404],
    ] as const;
    expect(lookups.flatMap(([method, status]) => (log.wants(method, status) ? `${method} ${status}` : []))).toEqual(
      wanted,
    );
  });
});
