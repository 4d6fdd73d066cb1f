import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { disposable, makeCertificates, startPostgres } from '@rms/testkit';
import { openPool, type Pool } from '../../src/db/index.ts';

describe('new connections use the current files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-db-follow-'));
  const log = createLogger({ name: 'db', level: 'silent' });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Closes the pool's connections, so that the next statement needs a new one. */
  const reconnect = async (pool: Pool) => {
    const client = await pool.connect();
    client.release(true);
  };
  const isConnected = (pool: Pool) => pool.query('select 1 as one').then(({ rows }) => rows[0]?.one === 1);

  test('the password in DATABASE_URL_FILE', async () => {
    const server = await startPostgres();
    const file = join(folder, 'url');
    const url = new URL(server.url);
    const admin = openPool(readSettings({ DATABASE_URL: server.url }), { name: 'admin', max: 1, log });
    let pool: Pool | undefined;
    try {
      const setPassword = async (password: string) => {
        await admin.query(`alter role ${url.username} password '${password}'`);
      };
      const writeUrl = (password: string) => {
        url.password = password;
        writeFileSync(file, `${url.href}\n`);
      };
      await setPassword('first');
      writeUrl('first');
      pool = openPool(readSettings({ DATABASE_URL_FILE: file }), { name: 'test', max: 1, log });
      expect(await isConnected(pool)).toBe(true);
      await setPassword('second');
      await reconnect(pool);
      await expect(pool.query('select 1')).rejects.toMatchObject({ code: '28P01' });
      writeUrl('second');
      expect(await isConnected(pool)).toBe(true);
      // A file that is being replaced does not matter.
      writeFileSync(file, '');
      await reconnect(pool);
      expect(await isConnected(pool)).toBe(true);
    } finally {
      await pool?.end();
      await admin.end();
      await server.stop();
    }
  });

  test('the CA and the client certificate', async () => {
    const [ours, strangers] = [makeCertificates(join(folder, 'ours')), makeCertificates(join(folder, 'strangers'))];
    await using server = disposable(
      await startPostgres(
        {},
        {
          ...ours.issue('postgres', { sans: ['127.0.0.1'] }),
          clientCaFile: ours.caFile,
          accessRules: 'hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n',
        },
      ),
    );
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => join(folder, `${name}.pem`)) as [
      string,
      string,
      string,
    ];
    const use = ({ caFile }: typeof ours, { certFile, keyFile }: { certFile: string; keyFile: string }) => {
      copyFileSync(caFile, ca);
      copyFileSync(certFile, cert);
      copyFileSync(keyFile, key);
    };
    use(strangers, strangers.issue('client'));
    const env = { DATABASE_URL: server.url, DATABASE_CA_FILE: ca, DATABASE_CERT_FILE: cert, DATABASE_KEY_FILE: key };
    await using pool = disposable(openPool(readSettings(env), { name: 'test', max: 1, log }));
    await expect(pool.query('select 1')).rejects.toThrow(/self-signed certificate|unable to verify/);
    use(ours, strangers.issue('client'));
    await expect(pool.query('select 1')).rejects.toThrow(/unknown ca|certificate|ECONNRESET/i);
    use(ours, ours.issue('client'));
    expect(await isConnected(pool)).toBe(true);
  });
});
