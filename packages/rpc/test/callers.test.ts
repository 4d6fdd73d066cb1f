import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PeerCertificate } from 'node:tls';
import { type ClientDuplexStream, status as grpcStatus, makeGenericClientConstructor } from '@grpc/grpc-js';
import { ServerReflection, type ServerReflectionResponse } from '@rms/proto/grpc/reflection/v1/reflection_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient, createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { makeCertificates, waitUntil } from '@rms/testkit';
import { callerNames } from '../src/callers.ts';
import { toServiceDefinition } from '../src/service-definition.ts';
import { startWorkspaces, type WorkspacesServer } from './workspaces-server.ts';

const silent = { info() {}, warn() {}, error() {} };

describe('A certificate stands for', () => {
  test.each([
    ['the DNS name', 'DNS:gateway', ['gateway']],
    ['the first label of it, in lower case', 'DNS:Gateway.rms.svc.cluster.local', ['gateway']],
    ['each of several', 'DNS:auth, DNS:auth.rms, DNS:rms, IP Address:127.0.0.1', ['auth', 'rms']],
    ['nobody if there are other kinds of names only', 'IP Address:127.0.0.1, URI:spiffe://x/gateway', []],
    [
      'none that hides in another one',
      'URI:"http://x\\u002c DNS:gateway.x", DNS:"gateway\\u002c.x"',
      ['"gateway\\u002c'],
    ],
    ['no wildcard but itself', 'DNS:*.rms.svc', ['*']],
    ['the common name if there are no other names', undefined, ['common']],
  ])('%s', (_, subjectaltname, names) => {
    expect(callerNames({ subject: { CN: 'common' }, subjectaltname } as unknown as PeerCertificate)).toEqual(names);
  });

  test('nobody if there is none', () => expect(callerNames(undefined)).toEqual([]));
});

describe('Callers of a server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-callers-'));
  const authority = makeCertificates(folder);
  let server: WorkspacesServer;
  const securityOf = (name: string, sans?: string[]): RpcSecurity => {
    const { certFile, keyFile } = authority.issue(name, sans ? { sans } : {});
    const files = { GRPC_CERT_FILE: certFile, GRPC_KEY_FILE: keyFile, GRPC_CA_FILE: authority.caFile };
    return createRpcSecurity({ ...files, INSECURE_GRPC: false }, silent, 20);
  };
  const clientOf = (security: RpcSecurity) =>
    createClient(WorkspacesService, { target: server.server.address, timeoutMs: 5_000, security });
  beforeAll(async () => {
    const callers = { gateway: [WorkspacesService.method.listWorkspaces], rms: 'all' } as const;
    server = await startWorkspaces({}, { security: securityOf('auth'), callers });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  test('on several connections at once are not taken for one another', async () => {
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

  test.each([
    ['rms', undefined],
    ['gateway', grpcStatus.PERMISSION_DENIED],
  ])('%s asks for reflection', async (name, refusal) => {
    const Client = makeGenericClientConstructor(toServiceDefinition(ServerReflection), ServerReflection.typeName);
    const { address } = server.server;
    const client = new Client(address, securityOf(name).channelCredentials(address)) as unknown as {
      serverReflectionInfo(): ClientDuplexStream<unknown, ServerReflectionResponse>;
      close(): void;
    };
    const stream = client.serverReflectionInfo();
    const ended = new Promise<number | undefined>((resolve) => {
      stream.on('error', (error: Error & { code?: number }) => resolve(error.code));
      stream.on('end', () => resolve(undefined));
      stream.resume();
    });
    stream.write({ messageRequest: { case: 'listServices', value: '' } });
    stream.end();
    expect(await ended).toBe(refusal);
    client.close();
  });

  test('whose certificate changes keep their connection; their next one shows the new certificate', async () => {
    const security = securityOf('changing', ['gateway']);
    const standing = clientOf(security);
    await standing.listWorkspaces({});
    authority.issue('changing', { sans: ['rms'] });
    // Another target is another connection.
    const { address } = server.server;
    const target = address.replace('127.0.0.1', 'localhost');
    const mayCreate = async () => {
      const client = createClient(WorkspacesService, { target, timeoutMs: 5_000, security });
      try {
        return (await client.createWorkspace({ name: 'x' })).workspace !== undefined;
      } catch {
        return false;
      } finally {
        client.close();
      }
    };
    await waitUntil(mayCreate, { what: 'the new certificate' });
    await standing.listWorkspaces({});
    await expect(standing.createWorkspace({ name: 'x' })).rejects.toThrow(/"gateway" may not call/);
    standing.close();
  });
});
