import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { startAuth, type TestAuth } from './support.ts';

describe('requests', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth.stop());

  const requestOf = (requestId: string, startMs: number, workspaceId = 'ws_one') => ({
    workspaceId,
    environment: Environment.LIVE,
    requestId,
    startTime: timestampFromMs(startMs),
    method: 'GET',
    route: '/v1/resources',
    status: 200,
    authenticatedMs: 0.5,
    durationMs: 2.5,
  });

  test('reported twice are there once, the newest first, each with what its key is known by', async () => {
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
    await auth.requests.batchReportRequests({ requests: [older, newer] });
    await auth.requests.batchReportRequests({ requests: [older] });
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

  test('are of their workspace and environment only', async () => {
    await auth.requests.batchReportRequests({ requests: [requestOf('mine', Date.now())] });
    const list = (scope: { workspaceId: string; environment?: Environment }) =>
      auth.requests.listRequests({ ...scope, requestId: 'mine' }).then(({ requests }) => requests.length);
    expect(await list({ workspaceId: 'ws_one' })).toBe(1);
    expect(await list({ workspaceId: 'ws_one', environment: Environment.SANDBOX })).toBe(0);
    expect(await list({ workspaceId: 'ws_other' })).toBe(0);
    expect(await list({ workspaceId: '' })).toBe(0);
  });

  test('of a clock that is wrong by days are left out, and take no others along', async () => {
    const dayMs = 24 * 3_600_000;
    const times = [-3, 0, 30].map((days) => Date.now() + days * dayMs);
    await auth.requests.batchReportRequests({ requests: times.map((ms) => requestOf('clock', ms)) });
    const { requests } = await auth.requests.listRequests({ workspaceId: 'ws_one', requestId: 'clock' });
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['no environment', { ...requestOf('x', Date.now()), environment: Environment.UNSPECIFIED }],
    ['no time', { ...requestOf('x', Date.now()), startTime: undefined }],
  ])('with %s are refused', async (_, { startTime, ...request }) => {
    const sent = { ...request, ...(startTime ? { startTime } : {}) };
    await expect(auth.requests.batchReportRequests({ requests: [sent] })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
