import { SettingsError } from '@rms/runtime/settings';
import { connectionOptions } from '../../src/db/connection-options.ts';

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
    'channel_binding=always',
    'client_encoding=latin1',
    'gssencmode=require',
    'connect_timeout=soon',
    'host=/run&host=/var',
    'sslmode=require&sslmode=disable',
    'sslrootcert=system',
  ])('%s is rejected, without exposing the URL', (parameter) => {
    expect(() => sslOf(`?${parameter}`, { ca })).toThrow(SettingsError);
    expect(() => sslOf(`?${parameter}`, { ca })).not.toThrow(/db\.example/);
  });

  test.each([
    'target_session_attrs=read-write',
    'client_encoding=UTF8&connect_timeout=15&keepalives=1',
    'gssencmode=disable&sslsni=1&ssl_min_protocol_version=TLSv1.2',
    'channel_binding=disable',
  ])('%s is accepted, because the service complies with it', (query) => {
    expect(connectionOptions(`${at}?${query}`, {}, '')).toEqual({ connectionString: at, options: '' });
  });

  test('the URL that Neon shows: TLS verified by public CAs, with channel binding', () => {
    const url = 'postgresql://owner:npg_x@ep-a-b-123-pooler.c-2.eu-central-1.aws.neon.tech/neondb';
    expect(connectionOptions(`${url}?sslmode=require&channel_binding=require`, {}, '')).toEqual({
      connectionString: url,
      options: '',
      ssl: verified,
      enableChannelBinding: true,
      requiresChannelBinding: true,
    });
  });

  test('channel_binding=prefer may be without effect, and require needs TLS', () => {
    expect(connectionOptions(`${at}?channel_binding=prefer`, {}, '')).toEqual({
      connectionString: at,
      options: '',
      enableChannelBinding: true,
    });
    for (const query of ['', '&sslmode=disable'])
      expect(() => sslOf(`?channel_binding=require${query}`)).toThrow(/channel_binding=require .* needs TLS: set/);
  });

  test('sslrootcert=system requests TLS with the public CAs', () => {
    expect(sslOf('?sslrootcert=system')).toEqual(verified);
    expect(sslOf('?sslmode=verify-full&sslrootcert=system')).toEqual(verified);
    expect(() => sslOf('?sslrootcert=system', { ca })).toThrow(/contradicts DATABASE_CA_FILE/);
    expect(() => sslOf('?sslrootcert=system&sslmode=disable')).toThrow(/contradicts sslrootcert=system/);
  });

  test.each([
    ['pgbouncer=true', /pgbouncer .* connect to PostgreSQL itself/],
    ['connection_limit=1', /set DATABASE_POOL_SIZE$/],
    ['schema=rms', /each service creates its own schema$/],
    ['sslrootcert=/ca', /set DATABASE_CA_FILE/],
    ['password=p', /use postgres:\/\/user:password@host/],
    ['workaround=x', /workaround of DATABASE_URL is not supported; correct or remove it$/],
  ])('%s is rejected with the remedy', (query, message) => {
    expect(() => sslOf(`?${query}`)).toThrow(message);
  });

  test('several hosts are rejected', () => {
    expect(() => connectionOptions('postgres://rms:a,b@one,two/rms', {}, '')).toThrow(/has several hosts/);
    expect(connectionOptions('postgres://rms:a,b@one/rms', {}, '')).toMatchObject({ options: '' });
  });

  test('the folder of a socket, and options of the URL precede the defaults', () => {
    const socket = 'postgres://rms:x@/rms?host=%2Fcloudsql%2Fproject%3Aregion%3Aname';
    expect(connectionOptions(`${socket}&options=-c%20work_mem%3D1MB`, {}, '-c jit=off')).toEqual({
      connectionString: socket,
      options: '-c work_mem=1MB -c jit=off',
    });
  });
});
