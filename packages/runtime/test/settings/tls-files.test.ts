import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientTls, followCaFile, readSettings, readTlsFiles, SettingsError } from '@rms/runtime/settings';
import { type Certificates, makeCertificates, suiteFolder } from '@rms/testkit';

describe('readTlsFiles', () => {
  const folder = suiteFolder('tls-files');
  let certificates: Certificates;
  let leaf: { certFile: string; keyFile: string };
  let other: { certFile: string; keyFile: string };
  let text: string;
  beforeAll(() => {
    certificates = makeCertificates(folder);
    leaf = certificates.issue('leaf');
    other = certificates.issue('other');
    text = join(folder, 'text');
    writeFileSync(text, 'not PEM');
  });

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

describe('followCaFile', () => {
  const folder = suiteFolder('ca-file');

  test('returns a replaced file within five seconds, and keeps the previous one while the file is unusable', () => {
    const first = makeCertificates(join(folder, 'first')).caFile;
    const second = makeCertificates(join(folder, 'second')).caFile;
    const file = join(folder, 'ca.pem');
    copyFileSync(first, file);
    let nowMs = 0;
    const lines: string[] = [];
    const log = {
      info: (_: object, message: string) => void lines.push(message),
      error: ({ reason }: { reason?: string }, message: string) => void lines.push(`${message}: ${reason}`),
    };
    const follow = followCaFile(readSettings({ WEBHOOK_CA_FILE: file }), 'WEBHOOK_CA_FILE', { nowMs: () => nowMs });
    const read = () => follow?.(log);
    expect(read()).toBe(readFileSync(first, 'utf8'));
    const pem = readFileSync(second, 'utf8');
    for (const unusable of ['', 'not PEM', `${pem}-----BEGIN CERTIFICATE-----\nMIIB`]) {
      writeFileSync(file, unusable);
      nowMs += 5_000;
      expect(read()).toBe(readFileSync(first, 'utf8'));
    }
    writeFileSync(file, pem);
    expect(read()).toBe(readFileSync(first, 'utf8'));
    nowMs += 5_000;
    expect(read()).toBe(pem);
    expect(lines).toEqual([
      expect.stringMatching(/^cannot reload a setting; keeping the previous value: WEBHOOK_CA_FILE does not contain/),
      'setting reloaded from its file',
    ]);
  });

  test('is undefined without a setting, and rejects an unusable file at the start', () => {
    expect(followCaFile(readSettings({}), 'WEBHOOK_CA_FILE')).toBeUndefined();
    const settings = readSettings({ WEBHOOK_CA_FILE: join(folder, 'nowhere') });
    expect(() => followCaFile(settings, 'WEBHOOK_CA_FILE')).toThrow(/^WEBHOOK_CA_FILE: .* cannot be read \(ENOENT\)$/);
  });
});
