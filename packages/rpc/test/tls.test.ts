import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { Health } from '@rms/proto/grpc/health/v1/health_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { type Callers, createClient, createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { makeCertificates, suiteFolder, waitUntil } from '@rms/testkit';
import { watchCertificates } from '../src/security.ts';
import { startWorkspaces } from './workspaces-server.ts';

const { listWorkspaces } = WorkspacesService.method;
const callers: Callers = { gateway: [listWorkspaces], rms: 'all' };
const silent = { info() {}, warn() {}, error() {} };

describe('Mutual TLS', () => {
  const folder = suiteFolder('tls');
  const authority = makeCertificates(join(folder, 'ours'));
  const untrusted = makeCertificates(join(folder, 'theirs'));
  const issued = (name: string, of = authority, options = {}) => ({
    ...of.issue(name, options),
    caFile: authority.caFile,
  });
  const security = ({
    certFile,
    keyFile,
    caFile,
  }: {
    certFile: string;
    keyFile: string;
    caFile: string;
  }): RpcSecurity =>
    createRpcSecurity(
      { GRPC_CERT_FILE: certFile, GRPC_KEY_FILE: keyFile, GRPC_CA_FILE: caFile, INSECURE_GRPC: false },
      silent,
      20,
    );
  const servers: { stop(): Promise<void> }[] = [];
  const start = async (files = issued('auth')) => {
    const started = await startWorkspaces({}, { security: security(files), callers });
    servers.push(started);
    return started;
  };
  const clientOf = (target: string, of: RpcSecurity | undefined) =>
    createClient(WorkspacesService, { target, timeoutMs: 60_000, ...(of ? { security: of } : {}) });

  afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop())));

  test('a listed caller may call exactly its methods', async () => {
    const { server, logged } = await start();
    const gateway = clientOf(server.address, security(issued('gateway')));
    expect((await gateway.listWorkspaces({})).workspaces).toEqual([]);
    await expect(gateway.createWorkspace({ name: 'x' })).rejects.toMatchObject({
      code: 'internal_error',
      message: 'The certificate of "gateway, localhost" may not call rms.auth.v1.WorkspacesService/CreateWorkspace.',
    });
    expect(logged).toEqual([expect.objectContaining({ message: 'call refused' })]);
    const rms = clientOf(server.address, security(issued('rms')));
    expect((await rms.createWorkspace({ name: 'x' })).workspace?.name).toBe('x');
    const outsider = clientOf(server.address, security(issued('somebody')));
    await expect(outsider.listWorkspaces({})).rejects.toMatchObject({ cause: { code: status.PERMISSION_DENIED } });
    for (const client of [gateway, rms, outsider]) client.close();
  });

  test('a caller with any valid certificate may check health', async () => {
    const { server } = await start();
    const health = createClient(Health, {
      target: server.address,
      timeoutMs: 60_000,
      security: security(issued('somebody')),
    });
    expect((await health.check({})).status).toBeGreaterThan(0);
    health.close();
  });

  test.each([
    ['no certificate and no TLS', () => undefined],
    ['a certificate of another CA', () => security({ ...untrusted.issue('gateway'), caFile: authority.caFile })],
    ['an expired certificate', () => security(issued('gateway', authority, { days: -1 }))],
    ['trust in another CA', () => security({ ...authority.issue('gateway'), caFile: untrusted.caFile })],
  ])('a client with %s is rejected, and does not hang', async (_, of) => {
    const { server } = await start();
    const client = clientOf(server.address, of());
    await expect(client.listWorkspaces({})).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    client.close();
  });

  test('a server whose certificate has another name is not trusted', async () => {
    const { server } = await start(issued('auth', authority, { sans: ['auth.example.com'] }));
    const client = clientOf(server.address, security(issued('gateway')));
    await expect(client.listWorkspaces({})).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    client.close();
  });

  test('new connections use changed certificate files; mismatched files are ignored', async () => {
    const files = issued('auth');
    const lines: string[] = [];
    const note = (_: object, message: string) => void lines.push(message);
    const provider = watchCertificates(files, { info: note, error: note }, 20);
    const seen: string[] = [];
    const listener = (update: { certificate: Buffer } | null) => void seen.push(String(update?.certificate));
    provider.addIdentityCertificateListener(listener);
    await waitUntil(() => seen.length === 1, { what: 'the first certificate' });
    writeFileSync(files.keyFile, 'half a file');
    await waitUntil(() => lines.some((line) => line.includes('cannot reload certificates')), {
      what: 'the broken file',
    });
    expect(seen).toHaveLength(1);
    issued('auth');
    await waitUntil(() => seen.length === 2, { what: 'the new certificate' });
    expect(seen[1]).not.toBe(seen[0]);
    expect(lines).toEqual(['cannot reload certificates; keeping the previous ones', 'certificates reloaded']);
    provider.removeIdentityCertificateListener(listener);
  });

  test('a running server presents its new certificate without a restart', async () => {
    const files = issued('auth');
    const { server } = await start(files);
    const serial = async () => (await certificateAt(server.address, issued('probe'))).serialNumber;
    const before = await serial();
    issued('auth');
    await waitUntil(async () => (await serial()) !== before, { what: 'the new certificate' });
  });

  test.each([
    ['one of the three files', { GRPC_KEY_FILE: '' }, /GRPC_KEY_FILE must also be set/],
    ['a missing file', { GRPC_CA_FILE: '/nowhere/ca.pem' }, /GRPC_CA_FILE: .* cannot be read \(ENOENT\)/],
    ['a truncated list of CAs', { GRPC_CA_FILE: brokenOff(authority.caFile) }, /is truncated/],
    ['the key of another certificate', { GRPC_KEY_FILE: untrusted.caKeyFile }, /are not usable together/],
  ])('%s missing or wrong fails the start with a clear message', (_, wrong, reason) => {
    const { certFile, keyFile, caFile } = issued('auth');
    const right = { GRPC_CERT_FILE: certFile, GRPC_KEY_FILE: keyFile, GRPC_CA_FILE: caFile, INSECURE_GRPC: false };
    expect(() => createRpcSecurity({ ...right, ...wrong }, silent)).toThrow(reason);
  });
});

describe('Without certificates', () => {
  const none = { GRPC_CERT_FILE: '', GRPC_KEY_FILE: '', GRPC_CA_FILE: '' };
  const strict = createRpcSecurity({ ...none, INSECURE_GRPC: false }, silent);

  test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('a server on %s is allowed', (host) => {
    strict.serverCredentials(host);
  });

  test.each(['0.0.0.0', '::', '192.0.2.1', 'auth'])('a server on %s is rejected', (host) => {
    expect(() => strict.serverCredentials(host)).toThrow(/GRPC_CERT_FILE, GRPC_KEY_FILE and GRPC_CA_FILE, or INSECURE/);
  });

  test.each(['127.0.0.1:1', 'localhost:1', '[::1]:1', 'dns:///localhost:1'])('a client of %s is allowed', (target) => {
    strict.channelCredentials(target);
  });

  test.each(['auth:9101', 'dns:///auth.rms.svc:9101', '192.0.2.1:1', '[2001:db8::1]:1', '127.0.0.1.example.com:1'])(
    'a client of %s is rejected',
    (target) => {
      expect(() => strict.channelCredentials(target)).toThrow(/is not on loopback/);
    },
  );

  test('INSECURE_GRPC allows both, with one warning', () => {
    const warnings: string[] = [];
    const log = { ...silent, warn: (_: object, message: string) => void warnings.push(message) };
    const open = createRpcSecurity({ ...none, INSECURE_GRPC: true }, log);
    open.serverCredentials('0.0.0.0');
    open.channelCredentials('dns:///auth:9101');
    expect(warnings).toHaveLength(1);
    open.serverCredentials('127.0.0.1');
  });
});

/** Writes a file copy with a truncated second certificate. */
function brokenOff(caFile: string): string {
  const ca = readFileSync(caFile);
  const file = `${caFile}.broken-off`;
  writeFileSync(file, Buffer.concat([ca, ca.subarray(0, 300)]));
  return file;
}

/** Returns the certificate that a server presents to a client with a certificate. */
function certificateAt(address: string, { certFile, keyFile }: { certFile: string; keyFile: string }) {
  const [host, port] = address.split(':');
  return new Promise<PeerCertificate>((resolve, reject) => {
    const socket = connect(
      {
        host,
        port: Number(port),
        cert: readFileSync(certFile),
        key: readFileSync(keyFile),
        rejectUnauthorized: false,
        ALPNProtocols: ['h2'],
      },
      () => {
        resolve(socket.getPeerCertificate());
        socket.destroy();
      },
    );
    socket.once('error', reject);
  });
}
