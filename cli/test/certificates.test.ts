import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { type RenewOptions, renewCertificates } from '../src/certificates/renew.ts';
import { type Secret, type SecretStore, WrittenMeanwhile } from '../src/certificates/secrets.ts';

const dayMs = 24 * 60 * 60_000;
const days = 90;
const start = new Date();
const after = (count: number) => new Date(start.getTime() + count * dayMs);

const options: RenewOptions = {
  authority: 'tls-authority',
  certificates: [
    { secret: 'tls-gateway', names: ['gateway', 'rms-gateway'] },
    { secret: 'tls-auth', names: ['auth', 'rms-auth', 'rms-auth.rms.svc'] },
  ],
  days,
  labels: { app: 'rms' },
};

/** In-memory store. A write fails if the Secret was changed after it was read. */
function memoryStore() {
  const secrets = new Map<string, { data: Secret['data']; version: number }>();
  const writes: string[] = [];
  const store: SecretStore = {
    async read(name) {
      const found = secrets.get(name);
      return found && { name, data: found.data, version: String(found.version) };
    },
    async write({ name, data, version }) {
      const found = secrets.get(name);
      if ((found ? String(found.version) : undefined) !== version) throw new WrittenMeanwhile(name);
      secrets.set(name, { data, version: (found?.version ?? 0) + 1 });
      writes.push(name);
    },
    async remove(name) {
      return secrets.delete(name);
    },
  };
  const at = (name: string) => secrets.get(name)?.data ?? {};
  const cert = (name: string) => new X509Certificate(at(name)['tls.crt'] ?? '');
  return { store, secrets, writes, at, cert };
}

/**
 * Connects a client to a server with the certificates of two Secrets, and returns the peer names that each side sees.
 * Rejects if the handshake fails.
 */
async function meet(serverData: Secret['data'], clientData: Secret['data'], servername: string) {
  const files = (data: Secret['data']) => ({ cert: data['tls.crt'], key: data['tls.key'], ca: data['ca.crt'] });
  const server = createServer({ ...files(serverData), requestCert: true, rejectUnauthorized: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>;
  const client = connect({ ...files(clientData), host: '127.0.0.1', port, servername, minVersion: 'TLSv1.3' });
  try {
    await once(client, 'secureConnect');
    const [socket] = await accepted;
    return { caller: socket.getPeerCertificate().subjectaltname, callee: client.getPeerCertificate().subjectaltname };
  } finally {
    client.destroy();
    server.close();
  }
}

describe('Certificates between services', () => {
  test('are issued by a new authority, and services verify the names of their peers', async () => {
    const { store, at, cert } = memoryStore();
    const renewed = await renewCertificates(store, { ...options, now: start });
    expect(renewed.map(({ secret, reason }) => [secret, reason])).toEqual([
      ['tls-gateway', 'missing'],
      ['tls-auth', 'missing'],
    ]);
    expect(await meet(at('tls-auth'), at('tls-gateway'), 'rms-auth.rms.svc')).toEqual({
      caller: 'DNS:gateway, DNS:rms-gateway',
      callee: 'DNS:auth, DNS:rms-auth, DNS:rms-auth.rms.svc',
    });
    await expect(meet(at('tls-auth'), at('tls-gateway'), 'rms-webhooks')).rejects.toThrow('altnames');
    expect(Object.keys(at('tls-gateway')).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    expect(cert('tls-authority').ca).toBe(true);
    expect(cert('tls-gateway').ca).toBe(false);
  });

  test('of another installation are rejected', async () => {
    const [one, other] = [memoryStore(), memoryStore()];
    await renewCertificates(one.store, { ...options, now: start });
    await renewCertificates(other.store, { ...options, now: start });
    await expect(meet(one.at('tls-auth'), other.at('tls-gateway'), 'rms-auth')).rejects.toThrow();
  });

  test('are kept for two thirds of their validity, then reissued by the same authority', async () => {
    const { store, at, cert, writes } = memoryStore();
    await renewCertificates(store, { ...options, now: start });
    const [authority, before] = [at('tls-authority'), cert('tls-gateway').serialNumber];
    writes.length = 0;
    await renewCertificates(store, { ...options, now: after(59) });
    expect(writes).toEqual([]);
    const renewed = await renewCertificates(store, { ...options, now: after(61) });
    expect(renewed.map(({ reason }) => reason)).toEqual(['expires soon', 'expires soon']);
    expect(writes.sort()).toEqual(['tls-auth', 'tls-gateway']);
    expect(cert('tls-gateway').serialNumber).not.toBe(before);
    expect(at('tls-authority')).toEqual(authority);
    expect(renewed[0]?.validTo.getTime()).toBeCloseTo(after(61 + days).getTime(), -4);
  });

  test('are reissued for changed names and if they are unreadable', async () => {
    const { store, secrets, cert } = memoryStore();
    await renewCertificates(store, { ...options, now: start });
    secrets.set('tls-auth', { data: { 'tls.crt': 'not a certificate', 'tls.key': 'not a key' }, version: 7 });
    const renamed = { secret: 'tls-gateway', names: ['gateway', 'other-gateway'] };
    const certificates = [renamed, ...options.certificates.slice(1)];
    const renewed = await renewCertificates(store, { ...options, certificates, now: after(1) });
    expect(renewed.map(({ reason }) => reason)).toEqual(['different DNS names', 'not usable']);
    expect(cert('tls-gateway').subjectAltName).toBe('DNS:gateway, DNS:other-gateway');
  });

  test('the authority is replaced in steps: trusted before it signs, and the previous one is trusted until it expires', async () => {
    const { store, at, cert } = memoryStore();
    const authorities = (name: string) => at(name)['ca.crt']?.match(/BEGIN/g)?.length;
    await renewCertificates(store, { ...options, now: start });
    const first = cert('tls-authority').fingerprint256;
    const near = 3_650 - 2 * days + 1;
    // The current certificates were issued by the first authority and are not due for renewal.
    await renewCertificates(store, { ...options, now: after(near - 10) });
    const old = at('tls-gateway');

    await renewCertificates(store, { ...options, now: after(near) });
    expect([cert('tls-authority').fingerprint256, authorities('tls-gateway')]).toEqual([first, 2]);
    expect(at('tls-gateway')['tls.crt']).toBe(old['tls.crt']);
    await renewCertificates(store, { ...options, now: after(near + 0.5) });
    expect(cert('tls-authority').fingerprint256).toBe(first);
    const trusting = at('tls-gateway');

    const renewed = await renewCertificates(store, { ...options, now: after(near + 1) });
    expect(renewed.map(({ reason }) => reason)).toEqual(['signed by another authority', 'signed by another authority']);
    expect(cert('tls-authority').fingerprint256).not.toBe(first);
    expect(authorities('tls-auth')).toBe(2);
    expect(Object.keys(at('tls-authority'))).not.toContain('next.crt');

    await renewCertificates(store, { ...options, now: after(3_651) });
    expect(authorities('tls-auth')).toBe(1);
    // Services that still use their previous certificate have trusted the next authority for a day.
    expect(new X509Certificate(trusting['ca.crt'] ?? '').fingerprint256).toBe(first);
    expect(trusting['ca.crt']).toContain(at('tls-authority')['ca.crt']?.trim());
  });

  test('concurrent renewals agree on one authority', async () => {
    const { store, at } = memoryStore();
    await Promise.all([1, 2, 3].map(() => renewCertificates(store, { ...options, now: start })));
    const issuedBy = new X509Certificate(at('tls-authority')['tls.crt'] ?? '');
    for (const name of ['tls-gateway', 'tls-auth']) {
      expect(new X509Certificate(at(name)['tls.crt'] ?? '').verify(issuedBy.publicKey)).toBe(true);
    }
  });
});
