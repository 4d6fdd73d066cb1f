import type { PeerCertificate } from 'node:tls';
import { status as grpcStatus } from '@grpc/grpc-js';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient, createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { makeCertificates, suiteFolder, waitUntil } from '@rms/testkit';
import { callerNames, forKeys, forUsers } from '../src/callers.ts';
import { startWorkspaces, type WorkspacesServer } from './workspaces-server.ts';

const silent = { info() {}, warn() {}, error() {} };

describe('A certificate identifies', () => {
  test.each([
    ['the DNS name', 'DNS:gateway', ['gateway']],
    ['the first label, in lower case', 'DNS:Gateway.rms.svc.cluster.local', ['gateway']],
    ['each of several names', 'DNS:auth, DNS:auth.rms, DNS:rms, IP Address:127.0.0.1', ['auth', 'rms']],
    ['no caller with only other kinds of names', 'IP Address:127.0.0.1, URI:spiffe://x/gateway', []],
    [
      'no name that is embedded in another name',
      'URI:"http://x\\u002c DNS:gateway.x", DNS:"gateway\\u002c.x"',
      ['"gateway\\u002c'],
    ],
    ['only itself for a wildcard', 'DNS:*.rms.svc', ['*']],
    ['the common name without other names', undefined, ['common']],
  ])('%s', (_, subjectaltname, names) => {
    expect(callerNames({ subject: { CN: 'common' }, subjectaltname } as unknown as PeerCertificate)).toEqual(names);
  });

  test('no caller without a certificate', () => expect(callerNames(undefined)).toEqual([]));
});

describe('Callers of a server', () => {
  const folder = suiteFolder('callers');
  const authority = makeCertificates(folder);
  let server: WorkspacesServer;
  const securityOf = (name: string, sans?: string[]): RpcSecurity => {
    const { certFile, keyFile } = authority.issue(name, sans ? { sans } : {});
    const files = { GRPC_CERT_FILE: certFile, GRPC_KEY_FILE: keyFile, GRPC_CA_FILE: authority.caFile };
    return createRpcSecurity({ ...files, INSECURE_GRPC: false }, silent, 20);
  };
  const clientOf = (security: RpcSecurity) =>
    createClient(WorkspacesService, { target: server.server.address, timeoutMs: 60_000, security });
  beforeAll(async () => {
    const { listWorkspaces, createWorkspace, bootstrapWorkspace, getWorkspace } = WorkspacesService.method;
    const callers = {
      gateway: [listWorkspaces, ...forKeys(getWorkspace)],
      dashboard: [...forUsers(createWorkspace, bootstrapWorkspace), listWorkspaces, bootstrapWorkspace],
      rms: 'all',
    } as const;
    server = await startWorkspaces({}, { security: securityOf('auth'), callers });
  });
  afterAll(() => server.stop());

  test('on concurrent connections are not confused', async () => {
    const gateway = clientOf(securityOf('gateway'));
    const rms = clientOf(securityOf('rms'));
    for (let i = 0; i < 3; i += 1) {
      await rms.createWorkspace({ name: 'x' });
      await gateway.listWorkspaces({});
      await expect(gateway.createWorkspace({ name: 'x' })).rejects.toMatchObject({
        code: 'internal_error',
        message: expect.stringContaining(
          '"gateway, localhost" may not call rms.auth.v1.WorkspacesService/CreateWorkspace',
        ),
        cause: { code: grpcStatus.PERMISSION_DENIED },
      });
    }
    expect(server.logged.at(-1)).toMatchObject({
      message: 'call refused',
      fields: {
        method: 'rms.auth.v1.WorkspacesService/CreateWorkspace',
        peer: expect.stringContaining('127.0.0.1:'),
        reason: expect.stringContaining('gateway'),
      },
    });
    gateway.close();
    rms.close();
  });

  test('may call some methods only for a user, and others only in their own name', async () => {
    const dashboard = clientOf(securityOf('dashboard'));
    const as = (actor: string) => ({ context: { actor } });
    const refused = (text: string) => ({
      message: expect.stringContaining(text),
      cause: { code: grpcStatus.PERMISSION_DENIED },
    });
    await dashboard.createWorkspace({ name: 'x' }, as('user:usr_1'));
    await dashboard.listWorkspaces({});
    for (const options of [undefined, as(''), as('operator:alice@laptop'), as('key:key_1'), as('user')]) {
      await expect(dashboard.createWorkspace({ name: 'x' }, options)).rejects.toMatchObject(
        refused('"dashboard, localhost" may call rms.auth.v1.WorkspacesService/CreateWorkspace only for one user.'),
      );
    }
    for (const actor of ['user:usr_1', 'operator:alice@laptop']) {
      await expect(dashboard.listWorkspaces({}, as(actor))).rejects.toMatchObject(refused('only in its own name'));
    }
    await dashboard.bootstrapWorkspace({ name: 'x' }, as('user:usr_1'));
    await dashboard.bootstrapWorkspace({ name: 'x' });
    await expect(dashboard.bootstrapWorkspace({ name: 'x' }, as('operator:x'))).rejects.toMatchObject(
      refused('only for one user, or for none'),
    );
    await expect(dashboard.setWorkspacePlan({}, as('user:usr_1'))).rejects.toMatchObject(refused('may not call'));
    dashboard.close();
  });

  test('may call some methods only for an API key', async () => {
    const gateway = clientOf(securityOf('gateway'));
    const principal = { workspaceId: 'ws_x', keyId: 'key_x' };
    await gateway.getWorkspace({}, { context: { principal } });
    for (const context of [undefined, {}, { principal, actor: 'user:usr_1' }, { actor: 'operator:x' }]) {
      await expect(gateway.getWorkspace({}, { context })).rejects.toMatchObject({
        message: expect.stringContaining('may call rms.auth.v1.WorkspacesService/GetWorkspace only for an API key.'),
        cause: { code: grpcStatus.PERMISSION_DENIED },
      });
    }
    gateway.close();
  });

  test('keep their connection when their certificate changes; new connections use the new certificate', async () => {
    const security = securityOf('changing', ['gateway']);
    const persistent = clientOf(security);
    await persistent.listWorkspaces({});
    authority.issue('changing', { sans: ['rms'] });
    // A different target uses a different connection.
    const { address } = server.server;
    const target = address.replace('127.0.0.1', 'localhost');
    const mayCreate = async () => {
      const client = createClient(WorkspacesService, { target, timeoutMs: 60_000, security });
      try {
        return (await client.createWorkspace({ name: 'x' })).workspace !== undefined;
      } catch {
        return false;
      } finally {
        client.close();
      }
    };
    await waitUntil(mayCreate, { what: 'the new certificate' });
    await persistent.listWorkspaces({});
    await expect(persistent.createWorkspace({ name: 'x' })).rejects.toThrow(/"gateway" may not call/);
    persistent.close();
  });
});
