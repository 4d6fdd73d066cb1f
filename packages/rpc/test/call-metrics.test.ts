import { RmsError } from '@rms/base/errors';
import { createMetrics } from '@rms/runtime/metrics';
import { countClientCalls, countServerCalls } from '../src/metrics.ts';
import { startWorkspaces, transports, type WorkspacesServer } from './workspaces-server.ts';

describe.each(transports)('Calls by %s', (transport) => {
  let workspaces: WorkspacesServer;
  const ended: { side: string; method: string; code: string; requestId?: string }[] = [];
  beforeAll(async () => {
    workspaces = await startWorkspaces(
      {
        createWorkspace: async ({ name }) => {
          if (name === 'taken') throw new RmsError('conflict');
          return {};
        },
      },
      {
        transport,
        onCall: ({ method, code }, { requestId }) => void ended.push({ side: 'server', method, code, requestId }),
        onClientCall: ({ method, code }) => void ended.push({ side: 'client', method, code }),
      },
    );
  });
  afterAll(() => workspaces.stop());

  test('are reported on both sides at their end, with their code', async () => {
    const method = 'rms.auth.v1.WorkspacesService/CreateWorkspace';
    await workspaces.client.createWorkspace({ name: 'a' }, { context: { requestId: 'req_metrics' } });
    await expect(workspaces.client.createWorkspace({ name: 'taken' })).rejects.toMatchObject({ code: 'conflict' });
    expect(ended).toEqual(
      expect.arrayContaining([
        { side: 'server', method, code: 'ok', requestId: 'req_metrics' },
        { side: 'client', method, code: 'ok' },
        { side: 'server', method, code: 'conflict', requestId: '' },
        { side: 'client', method, code: 'conflict' },
      ]),
    );
    expect(ended).toHaveLength(4);
  });

  test('are counted by method and code', async () => {
    const metrics = createMetrics('unit');
    const call = { method: 'a.B/C', code: 'ok', durationMs: 30 };
    const [server, client] = [countServerCalls(metrics), countClientCalls(metrics)];
    server(call);
    client({ ...call, code: 'timeout' });
    const text = await metrics.metrics();
    expect(text).toContain('rms_grpc_server_calls_total{method="a.B/C",code="ok",service="unit"} 1');
    expect(text).toContain('rms_grpc_client_calls_total{method="a.B/C",code="timeout",service="unit"} 1');
    expect(text).toContain('rms_grpc_server_call_duration_seconds_bucket{le="0.025",service="unit",method="a.B/C"} 0');
    expect(text).toContain('rms_grpc_server_call_duration_seconds_bucket{le="0.05",service="unit",method="a.B/C"} 1');
  });
});
