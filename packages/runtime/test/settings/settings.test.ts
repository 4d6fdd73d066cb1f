import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  describeSettings,
  readSettings,
  requireSettings,
  type SettingName,
  SettingsError,
} from '@rms/runtime/settings';
import { suiteFolder } from '@rms/testkit';

describe('Settings', () => {
  const folder = suiteFolder('settings');

  test('an empty environment results in the defaults', () => {
    expect(readSettings({})).toMatchObject({
      HOST: '127.0.0.1',
      PORT: 8080,
      SANDBOX_PORT: 8081,
      DATA_DIR: '.data',
      KAFKA_BROKERS: [],
      RATE_LIMIT_REQUESTS: 6000,
      MONTHLY_QUOTA: 10_000_000,
      WEBHOOK_ALLOW_HTTP: false,
      PUBLIC_API_URL: undefined,
    });
  });

  test('an empty variable counts as unset', () => {
    expect(readSettings({ PORT: '' }).PORT).toBe(8080);
  });

  test('an address can be "none"', () => {
    expect(readSettings({ ALERTS_ADDRESS: 'none' }).ALERTS_ADDRESS).toBeUndefined();
    expect(readSettings({ ALERTS_ADDRESS: '' }).ALERTS_ADDRESS).toBe('127.0.0.1:9104');
  });

  test('lists, flags and URLs are parsed', () => {
    const settings = readSettings({
      KAFKA_BROKERS: 'a:9092,b:9092',
      WEBHOOK_ALLOW_HTTP: '1',
      PUBLIC_API_URL: 'https://api.example.com/rms//',
    });
    expect(settings.KAFKA_BROKERS).toEqual(['a:9092', 'b:9092']);
    expect(settings.WEBHOOK_ALLOW_HTTP).toBe(true);
    expect(settings.PUBLIC_API_URL).toBe('https://api.example.com/rms');
  });

  test.each<[SettingName, string]>([
    ['PORT', '0'],
    ['PORT', '65536'],
    ['PORT', '80a'],
    ['PORT', '1e3'],
    ['PORT', '-1'],
    ['WEBHOOK_ALLOW_HTTP', 'yes'],
    ['LOG_LEVEL', 'loud'],
    ['PUBLIC_API_URL', 'ftp://example.com'],
    ['PUBLIC_API_URL', 'example.com'],
    ['RATE_LIMIT_REQUESTS', '1.5'],
    ['EVENT_PARTITIONS', '0'],
  ])('%s=%s is rejected with an error that contains the name and the value', (name, value) => {
    expect(() => readSettings({ [name]: value })).toThrow(SettingsError);
    expect(() => readSettings({ [name]: value })).toThrow(new RegExp(`^${name}: .*"${value.replace('.', '\\.')}"`));
  });

  test('the error lists all invalid settings', () => {
    expect(() => readSettings({ PORT: 'x', SANDBOX_PORT: 'y', LOG_LEVEL: 'z' })).toThrow(
      /PORT: .*; SANDBOX_PORT: .*; LOG_LEVEL: /,
    );
  });

  test('the environments cannot share a port', () => {
    expect(() => readSettings({ PORT: '9000', SANDBOX_PORT: '9000' })).toThrow(/^SANDBOX_PORT: .*"9000"/);
  });

  test('a secret can be read from a file; the trailing line break is ignored', () => {
    const file = join(folder, 'url');
    writeFileSync(file, 'postgres://from-file\n');
    expect(readSettings({ DATABASE_URL_FILE: file }).DATABASE_URL).toBe('postgres://from-file');
    expect(readSettings({ DATABASE_URL: 'postgres://direct', DATABASE_URL_FILE: file }).DATABASE_URL).toBe(
      'postgres://direct',
    );
  });

  test('a standard variable of the system is the fallback of a setting', () => {
    const env = { HTTPS_PROXY: 'http://u:hunter2@upper', https_proxy: 'http://lower' };
    expect(readSettings(env).WEBHOOK_PROXY_URL).toBe('http://u:hunter2@upper');
    expect(readSettings({ ...env, HTTPS_PROXY: '' }).WEBHOOK_PROXY_URL).toBe('http://lower');
    expect(readSettings({ ...env, WEBHOOK_PROXY_URL: 'http://own' }).WEBHOOK_PROXY_URL).toBe('http://own');
    const described = describeSettings(env).find(({ name }) => name === 'WEBHOOK_PROXY_URL');
    expect(described).toMatchObject({ value: '[secret]', source: 'environment' });
  });

  test('the error names an unreadable file', () => {
    expect(() => readSettings({ ENCRYPTION_KEY_FILE: join(folder, 'missing') })).toThrow(
      /^ENCRYPTION_KEY: ENCRYPTION_KEY_FILE cannot be read \(ENOENT\)$/,
    );
  });

  test('only secrets can be read from files', () => {
    const file = join(folder, 'port');
    writeFileSync(file, '99');
    expect(readSettings({ PORT_FILE: file } as NodeJS.ProcessEnv).PORT).toBe(8080);
  });

  test('the error lists missing settings', () => {
    const settings = readSettings({ DATABASE_URL: 'postgres://x' });
    expect(() => requireSettings(settings, 'DATABASE_URL')).not.toThrow();
    expect(() => requireSettings(settings, 'DATABASE_URL', 'REDIS_URL', 'KAFKA_BROKERS')).toThrow(
      'REDIS_URL, KAFKA_BROKERS must be set',
    );
  });

  test('the description never contains a secret, and includes the source of a value', () => {
    const file = join(folder, 'key');
    writeFileSync(file, 'hunter2');
    const described = describeSettings({
      DATABASE_URL: 'postgres://rms:hunter2@db',
      ENCRYPTION_KEY_FILE: file,
      PORT: '99',
    });
    const byName = new Map(described.map((one) => [one.name, one]));
    expect(byName.get('DATABASE_URL')).toMatchObject({ value: '[secret]', source: 'environment' });
    expect(byName.get('ENCRYPTION_KEY')).toMatchObject({ value: '[secret]', source: 'file' });
    expect(byName.get('REDIS_URL')).toMatchObject({ value: '', source: 'default' });
    expect(byName.get('PORT')).toMatchObject({ value: '99', source: 'environment' });
    expect(JSON.stringify(described)).not.toContain('hunter2');
  });

  const otherScheme = 'DATABASE_URL: is not a URL that starts with postgres:// or postgresql://';
  const unescaped = 'DATABASE_URL: has an unescaped "/", "?" or "#" in the password; percent-encode it (%2F, %3F, %23)';
  const notValid =
    'DATABASE_URL: is not a valid URL; use postgres://user:password@host:port, with the password percent-encoded';
  test.each([
    ['postgres//u:secret@host/db', otherScheme],
    ['mysql://u:secret@host/db', otherScheme],
    ['secret', otherScheme],
    ['postgres://u:12/secret@host/db', unescaped],
    ['postgres://u:12?secret@host/db', unescaped],
    ['postgres://u:a/secret@host/db', unescaped],
    ['postgres://u:secret@host:port/db', notValid],
    ['postgres://u:a secret@host/db', notValid],
  ])('an invalid DATABASE_URL is rejected without exposing it: %s', (url, message) => {
    let thrown: unknown;
    try {
      readSettings({ DATABASE_URL: url });
    } catch (error) {
      thrown = error;
    }
    expect((thrown as Error).message).toBe(message);
  });

  test.each(['postgres://u:p%2Fw@host:5432/db?sslmode=require', 'postgresql://host/db', 'postgres:///db?host=/run/pg'])(
    'a DATABASE_URL is not changed: %s',
    (url) => {
      expect(readSettings({ DATABASE_URL: url }).DATABASE_URL).toBe(url);
    },
  );
});
