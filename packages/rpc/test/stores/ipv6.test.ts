import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient, createRpcSecurity } from '@rms/rpc';
import { describeWith } from '@rms/testkit';
import { startWorkspaces } from '../workspaces-server.ts';

describeWith('ipv6', 'a gRPC server', () => {
  test('on "::" serves IPv6 and IPv4', async () => {
    const none = { GRPC_CERT_FILE: '', GRPC_KEY_FILE: '', GRPC_CA_FILE: '' };
    const log = { info() {}, warn() {}, error() {} };
    const security = createRpcSecurity({ ...none, INSECURE_GRPC: true }, log);
    const workspaces = await startWorkspaces({}, { host: '::', security });
    const port = workspaces.server.address.split(':').at(-1);
    for (const host of ['127.0.0.1', '[::1]', 'dns:///localhost']) {
      const client = createClient(WorkspacesService, { target: `${host}:${port}`, timeoutMs: 60_000 });
      expect((await client.createWorkspace({ name: host })).workspace?.name).toBe(host);
      client.close();
    }
    await workspaces.stop();
  });
});
