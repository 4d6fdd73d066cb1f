import { SettingsError } from '@rms/settings';
import { connectionOptions } from '../src/connection-options.ts';

const at = 'postgres://rms@db.example/rms';
const ca = Buffer.from('a CA');
const cert = { cert: Buffer.from('a certificate'), key: Buffer.from('its key') };
const sslOf = (query: string, files = {}) => connectionOptions(at + query, files, '').ssl;
const verified = { rejectUnauthorized: true, minVersion: 'TLSv1.2' };

describe('connectionOptions', () => {
  test('a URL without sslmode uses verified TLS with a CA, and PGSSLMODE without a CA', () => {
    expect(sslOf('')).toBeUndefined();
    expect(sslOf('', { ca })).toEqual({ ca, ...verified });
    expect(sslOf('', { ca, ...cert })).toEqual({ ca, ...cert, ...verified });
  });

  test.each(['allow', 'prefer', 'require', 'verify-ca', 'verify-full'])('sslmode=%s uses verified TLS', (mode) => {
    expect(sslOf(`?sslmode=${mode}`)).toEqual(verified);
    expect(sslOf(`?sslmode=${mode}`, { ca })).toEqual({ ca, ...verified });
  });

  test('ssl=true and direct TLS use verified TLS', () => {
    expect(sslOf('?ssl=true', { ca })).toEqual({ ca, ...verified });
    expect(connectionOptions(`${at}?sslnegotiation=direct`, { ca }, '')).toMatchObject({
      connectionString: at,
      sslnegotiation: 'direct',
      ssl: { ca, ...verified },
    });
  });

  test('TLS without verification must be explicit, and contradicts a CA', () => {
    expect(sslOf('?sslmode=disable')).toBe(false);
    expect(sslOf('?ssl=0')).toBe(false);
    expect(sslOf('?sslmode=no-verify')).toMatchObject({ rejectUnauthorized: false });
    for (const query of ['?sslmode=disable', '?ssl=0', '?sslmode=no-verify']) {
      expect(() => sslOf(query, { ca })).toThrow(/contradicts DATABASE_CA_FILE/);
    }
  });

  test('a client certificate needs TLS', () => {
    expect(() => sslOf('', cert)).toThrow(/^DATABASE_CERT_FILE needs TLS/);
    expect(() => sslOf('?sslmode=disable', cert)).toThrow(/^DATABASE_CERT_FILE needs TLS/);
    expect(sslOf('?sslmode=require', cert)).toEqual({ ...cert, ...verified });
  });

  test.each([
    'sslmode=strict',
    'sslnegotiation=none',
    'sslrootcert=/ca',
    'sslcert=/c',
    'sslkey=/k',
    'uselibpqcompat=true',
    'sslmod=require',
    'pgbouncer=true',
    'statement_timeout=0',
    'target_session_attrs=read-only',
    'channel_binding=require',
    'host=/run&host=/var',
  ])('%s is rejected, without exposing the URL', (parameter) => {
    expect(() => sslOf(`?${parameter}`, { ca })).toThrow(SettingsError);
    expect(() => sslOf(`?${parameter}`, { ca })).not.toThrow(/db\.example/);
  });

  test('parameters with which the behavior of the service complies are accepted', () => {
    expect(connectionOptions(`${at}?target_session_attrs=read-write&channel_binding=prefer`, {}, '')).toEqual({
      connectionString: at,
      options: '',
    });
  });

  test('other parameters are kept, and options of the URL precede the defaults', () => {
    expect(connectionOptions(`${at}?connect_timeout=3&options=-c%20work_mem%3D1MB`, {}, '-c jit=off')).toEqual({
      connectionString: `${at}?connect_timeout=3`,
      options: '-c work_mem=1MB -c jit=off',
    });
  });
});
