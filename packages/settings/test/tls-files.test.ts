import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientTls, readSettings, readTlsFiles, SettingsError } from '@rms/settings';
import { type Certificates, makeCertificates } from '@rms/testkit';

describe('readTlsFiles', () => {
  let folder: string;
  let certificates: Certificates;
  let leaf: { certFile: string; keyFile: string };
  let other: { certFile: string; keyFile: string };
  let text: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'rms-tls-files-'));
    certificates = makeCertificates(folder);
    leaf = certificates.issue('leaf');
    other = certificates.issue('other');
    text = join(folder, 'text');
    writeFileSync(text, 'not PEM');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const read = (ca: string, cert: string, key: string) =>
    readTlsFiles(readSettings({ REDIS_CA_FILE: ca, REDIS_CERT_FILE: cert, REDIS_KEY_FILE: key }), 'REDIS');

  test('reads the files that are set', () => {
    expect(read('', '', '')).toEqual({});
    expect(read(certificates.caFile, leaf.certFile, leaf.keyFile)).toEqual({
      ca: readFileSync(certificates.caFile),
      cert: readFileSync(leaf.certFile),
      key: readFileSync(leaf.keyFile),
    });
  });

  test('names the setting whose file cannot be read', () => {
    expect(() => read(join(folder, 'nowhere'), '', '')).toThrow(SettingsError);
    expect(() => read(join(folder, 'nowhere'), '', '')).toThrow(/^REDIS_CA_FILE: .*nowhere cannot be read \(ENOENT\)$/);
  });

  test('rejects a certificate without its key, and a key without its certificate', () => {
    expect(() => read('', leaf.certFile, '')).toThrow('REDIS_CERT_FILE is set, but REDIS_KEY_FILE is not');
    expect(() => read('', '', leaf.keyFile)).toThrow('REDIS_KEY_FILE is set, but REDIS_CERT_FILE is not');
    expect(() => read('', leaf.certFile, other.keyFile)).toThrow(
      /^REDIS_KEY_FILE does not contain an unencrypted private key that matches REDIS_CERT_FILE$/,
    );
  });

  test('rejects a file without a certificate, and does not expose a key', () => {
    expect(() => read(text, '', '')).toThrow('REDIS_CA_FILE does not contain a certificate in PEM format');
    expect(() => read('', text, leaf.keyFile)).toThrow('REDIS_CERT_FILE does not contain a certificate in PEM format');
    expect(() => read('', leaf.certFile, text)).toThrow(/^REDIS_KEY_FILE does not contain an unencrypted private key/);
  });

  test('a client always verifies the server', () => {
    expect(clientTls({})).toEqual({ rejectUnauthorized: true, minVersion: 'TLSv1.2' });
  });
});
