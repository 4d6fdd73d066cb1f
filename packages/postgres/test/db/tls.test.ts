import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, createSecureContext, TLSSocket } from 'node:tls';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { type Certificates, disposable, makeCertificates, type PostgresServer, startPostgres } from '@rms/testkit';
import { openPool, type Pool } from '../../src/db/index.ts';

const lines: string[] = [];
const log = createLogger({ name: 'db', level: 'trace', destination: { write: (line) => void lines.push(line) } });

describe('PostgreSQL with TLS', () => {
  let folder: string;
  let trusted: Certificates;
  let untrusted: Certificates;
  let server: PostgresServer;
  let pools: Pool[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rms-db-tls-'));
    trusted = makeCertificates(join(folder, 'ours'));
    untrusted = makeCertificates(join(folder, 'strangers'));
    server = await startPostgres(
      {},
      {
        ...trusted.issue('postgres', { sans: ['127.0.0.1'] }),
        clientCaFile: trusted.caFile,
        accessRules: [
          'hostssl certified all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca',
          'hostssl cleartext all 127.0.0.1/32 password',
          'hostssl trusting  all 127.0.0.1/32 trust',
          'hostssl all       all 127.0.0.1/32 scram-sha-256',
          '',
        ].join('\n'),
      },
    );
    const pool = open({ DATABASE_CA_FILE: trusted.caFile });
    for (const name of ['certified', 'cleartext', 'trusting']) await pool.query(`create database ${name}`);
  });
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    pools = [];
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (env: NodeJS.ProcessEnv, change: (url: URL) => void = () => {}) => {
    const url = new URL(server.url);
    change(url);
    const pool = openPool(readSettings({ DATABASE_URL: url.href, ...env }), { name: 'test', max: 1, log });
    pools.push(pool);
    return pool;
  };
  const versionOf = async (pool: Pool) => {
    const { rows } = await pool.query('select ssl, version from pg_stat_ssl where pid = pg_backend_pid()');
    return rows[0];
  };

  test.each(['', '?sslmode=require', '?sslmode=prefer', '?ssl=true'])(
    'with its CA, URL%s: encrypted',
    async (query) => {
      const pool = open({ DATABASE_CA_FILE: trusted.caFile }, (url) => {
        url.search = query;
      });
      expect(await versionOf(pool)).toEqual({ ssl: true, version: 'TLSv1.3' });
    },
  );

  test("a CA that did not sign the server's certificate: rejected", async () => {
    await expect(open({ DATABASE_CA_FILE: untrusted.caFile }).query('select 1')).rejects.toThrow(
      /(self-signed certificate|unable to verify).*; set DATABASE_CA_FILE to the CA/,
    );
  });

  test('sslmode=require without a CA: rejected, because no public CA signed the certificate', async () => {
    const pool = open({}, (url) => {
      url.search = '?sslmode=require';
    });
    await expect(pool.query('select 1')).rejects.toThrow(/; set DATABASE_CA_FILE to the CA/);
  });

  test('a host name that does not match the certificate: rejected', async () => {
    const pool = open({ DATABASE_CA_FILE: trusted.caFile }, (url) => {
      url.hostname = 'localhost';
    });
    await expect(pool.query('select 1')).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  test('a wrong password: rejected, and not exposed', async () => {
    const pool = open({ DATABASE_CA_FILE: trusted.caFile }, (url) => {
      url.password = 'wrong-hunter2';
    });
    const error: Error = await pool.query('select 1').catch((reason) => reason);
    expect(error).toMatchObject({ code: '28P01', message: expect.stringContaining('password authentication failed') });
    log.error({ err: error }, 'logged like in a service');
    expect(lines.join('')).toContain('password authentication failed');
    expect(lines.join('')).not.toContain('hunter2');
  });

  test('a server that requires client certificates accepts only valid certificates', async () => {
    const intoCertified = (url: URL) => {
      url.pathname = '/certified';
    };
    const { certFile, keyFile } = trusted.issue('client');
    const client = { DATABASE_CERT_FILE: certFile, DATABASE_KEY_FILE: keyFile };
    const ca = { DATABASE_CA_FILE: trusted.caFile };
    expect(await versionOf(open({ ...ca, ...client }, intoCertified))).toMatchObject({ ssl: true });
    await expect(open(ca, intoCertified).query('select 1')).rejects.toThrow(/valid client certificate/);
    const outsider = untrusted.issue('client');
    const foreign = { DATABASE_CERT_FILE: outsider.certFile, DATABASE_KEY_FILE: outsider.keyFile };
    await expect(open({ ...ca, ...foreign }, intoCertified).query('select 1')).rejects.toThrow(
      /unknown ca|closed|terminated/i,
    );
  });

  test.each(['prefer', 'require'])(
    'channel_binding=%s: another server with a valid certificate is rejected',
    async (binding) => {
      await using between = disposable(
        await startTlsRelay(server, trusted.issue('postgres', { sans: ['127.0.0.1'] }), trusted.caFile),
      );
      const ca = { DATABASE_CA_FILE: trusted.caFile };
      const at =
        (port: string | number, query = '') =>
        (url: URL) =>
          Object.assign(url, { port, search: query });
      const query = `?channel_binding=${binding}`;
      expect(await versionOf(open(ca, at(between.port)))).toMatchObject({ ssl: true });
      expect(await versionOf(open(ca, at(new URL(server.url).port, query)))).toMatchObject({ ssl: true });
      await expect(open(ca, at(between.port, query)).query('select 1')).rejects.toThrow(/channel binding check failed/);
    },
  );

  test.each(['cleartext', 'trusting'])(
    'channel_binding=require: rejected by a server with %s authentication',
    async (name) => {
      const into = (query: string) => (url: URL) => Object.assign(url, { pathname: `/${name}`, search: query });
      const ca = { DATABASE_CA_FILE: trusted.caFile };
      expect(await versionOf(open(ca, into('?channel_binding=prefer')))).toMatchObject({ ssl: true });
      await expect(open(ca, into('?channel_binding=require')).query('select 1')).rejects.toThrow(
        /does not offer SCRAM-SHA-256-PLUS/,
      );
    },
  );

  test('a server without TLS: rejected instead of used unencrypted', async () => {
    await using plain = disposable(await startPostgres());
    const env = { DATABASE_CA_FILE: trusted.caFile, DATABASE_URL: plain.url };
    await expect(open(env).query('select 1')).rejects.toThrow(/does not support SSL/);
  });
});

/** Starts a server that decrypts connections and forwards them, encrypted again, as an attacker with a certificate can. */
async function startTlsRelay(
  target: PostgresServer,
  { certFile, keyFile }: ReturnType<Certificates['issue']>,
  caFile: string,
) {
  const { port } = new URL(target.url);
  const context = createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
  const acceptTls = Buffer.from('S');
  const sockets = new Set<Socket>();
  const server = createServer(async (client) => {
    const forward = connect(Number(port), '127.0.0.1');
    for (const socket of [client, forward]) sockets.add(socket.on('error', () => {}));
    // Both sides begin with a request for TLS of 8 bytes and its confirmation of a byte.
    const [request] = await once(client, 'data');
    forward.write(request);
    await once(forward, 'data');
    client.pause().write(acceptTls);
    const inside = new TLSSocket(client, { isServer: true, secureContext: context }).on('error', () => {});
    const outside = connectTls({ socket: forward, ca: readFileSync(caFile), host: '127.0.0.1' }).on('error', () => {});
    inside.pipe(outside).pipe(inside);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
