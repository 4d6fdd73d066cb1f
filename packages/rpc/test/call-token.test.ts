import { status } from '@grpc/grpc-js';
import { Health } from '@rms/proto/grpc/health/v1/health_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient, createRpcSecurity } from '@rms/rpc';
import { startWorkspaces, targetOf, transports, type WorkspacesServer } from './workspaces-server.ts';

const silent = { info() {}, warn() {}, error() {} };
const none = { GRPC_CERT_FILE: '', GRPC_KEY_FILE: '', GRPC_CA_FILE: '', INSECURE_GRPC: false };
const securityWith = (GRPC_TOKEN: string) => createRpcSecurity({ ...none, GRPC_TOKEN }, silent);

describe.each(transports)('A server with a token, called by %s', (transport) => {
  let started: WorkspacesServer;
  beforeAll(async () => {
    started = await startWorkspaces({}, { security: securityWith('right') });
  });
  afterAll(() => started?.stop());

  const clientWith = (token: string) =>
    createClient(WorkspacesService, {
      target: targetOf(started.server, transport),
      timeoutMs: 60_000,
      security: securityWith(token),
    });

  test('serves calls that carry the token, also with a context', async () => {
    const client = clientWith('right');
    await client.listWorkspaces({}, { context: { actor: 'operator:alice@laptop', requestId: 'req_1' } });
    await client.listWorkspaces({});
    client.close();
  });

  test.each(['', 'wrong', 'righT', 'right and more'])('refuses calls with the token "%s"', async (token) => {
    const client = clientWith(token);
    await expect(client.listWorkspaces({})).rejects.toMatchObject({
      message: expect.stringMatching(/ListWorkspaces requires the token in services\.json of DATA_DIR/),
      cause: { code: status.UNAUTHENTICATED },
    });
    client.close();
    expect(started.logged.at(-1)).toMatchObject({ message: 'call refused' });
  });

  test('responds to health checks without a token', async () => {
    const health = createClient(Health, { target: targetOf(started.server, transport), timeoutMs: 60_000 });
    expect(await health.check({})).toHaveProperty('status');
    health.close();
  });
});
