import {
  type Settings as AllSettings,
  readSettings,
  type SettingName,
  SettingsError,
  settingNames,
} from '@rms/runtime/settings';
import fc from 'fast-check';
import { settingsTable } from '../../src/settings/settings-table.ts';

const key = Buffer.alloc(32, 7).toString('base64');

type Kind =
  | 'text'
  | 'number'
  | 'flag'
  | 'choice'
  | 'share'
  | 'url'
  | 'origin'
  | 'origins'
  | 'secretUrl'
  | 'template'
  | 'host'
  | 'hostPort'
  | 'target'
  | 'name'
  | 'key'
  | 'keys'
  | 'email'
  | 'hostPorts'
  | 'networks'
  | 'ports'
  | 'servers'
  | 'exemptions'
  | 'claim'
  | 'ehloName';

/** A valid value of each kind of setting, and wrong spellings of it. Blanks around values are tried for all kinds. */
const kinds: Record<Kind, { valid: string; wrong: readonly string[] }> = {
  text: { valid: 'a text', wrong: [] },
  number: {
    valid: '9',
    wrong: [
      '+9',
      '-9',
      '09',
      '9.0',
      '9e0',
      '0x9',
      '0b1',
      '0o7',
      '9_0',
      '9,0',
      '９',
      'NaN',
      'Infinity',
      '99999999999999999999',
      '9 9',
    ],
  },
  flag: { valid: 'true', wrong: ['TRUE', 'True', 'yes', 'on', '01', '+1', 'true,', 'null'] },
  choice: { valid: '', wrong: ['ALL', 'Info', 'info,', 'none;'] },
  share: { valid: '0.5', wrong: ['.5', '5e-1', '+0.5', '-0', '00.5', '1.5', '0x0', '0,5', '50%', '0.'] },
  url: {
    valid: 'https://example.com/path',
    wrong: [
      'https:/example.com',
      'https:example.com',
      '//example.com',
      'HTTPS://example.com',
      'https://EXAMPLE.com',
      'https://example.com:443',
      'https://example.com/a b',
      'https://0x7f.1',
      'https://010.0.0.1/',
      'https://example.com/a/../b',
      'ftp://example.com',
    ],
  },
  origin: {
    valid: 'https://example.com:8443',
    wrong: ['https://example.com/path', 'https://example.com/?a', 'https://a@example.com', 'https://EXAMPLE.com'],
  },
  origins: {
    valid: 'https://example.com,http://localhost:3000',
    wrong: [
      'https://example.com/',
      'https://example.com,',
      'https://EXAMPLE.com',
      'https://*.example.com',
      "https://a.example.com;script-src'self'",
      'ftp://example.com',
      'example.com',
      '*',
    ],
  },
  secretUrl: { valid: '', wrong: ['example.com', ':6379', 'redis:/host', 'file:///etc/passwd', 'host:1 host:2'] },
  template: {
    valid: 'https://traces.example.com/{trace_id}',
    wrong: [
      'https://traces.example.com/',
      'traces.example.com/{trace_id}',
      'HTTPS://a/{trace_id}',
      'https://a/{trace_id}/ b',
    ],
  },
  host: {
    valid: '127.0.0.1',
    wrong: [
      '127.1',
      '0x7f000001',
      '127.0.0.01',
      '2130706433',
      '[::1]',
      'a b',
      'a,b',
      'http://a',
      '127.0.0.1:80',
      ':::',
    ],
  },
  hostPort: {
    valid: '127.0.0.1:9464',
    wrong: [
      '9464',
      ':9464',
      '127.0.0.1',
      '127.0.0.1:',
      '127.0.0.1:09464',
      '127.0.0.1:+9464',
      '127.0.0.1:9e3',
      '127.0.0.1:0x1',
      '127.0.0.1:65536',
      '::1:9464',
      '127.1:9464',
      'a:1,b:2',
    ],
  },
  target: {
    valid: 'dns:///auth:9101',
    wrong: [
      'auth',
      'auth:',
      ':9101',
      'auth:09101',
      'auth:0x1',
      'auth:65536',
      'auth:9101/',
      'auth:1,auth:2',
      'http//auth:9101',
      'auth: 9101',
      '127.1:9101',
    ],
  },
  name: { valid: 'rms', wrong: ['a b', 'a,b', 'a.b', '"rms"', 'rms;'] },
  key: {
    valid: key,
    wrong: [
      `${key}=`,
      key.slice(0, -2),
      `${key},`,
      Buffer.alloc(32, 7).toString('hex'),
      key.replace('B', ' '),
      `${key.slice(0, 42)}d=`,
    ],
  },
  keys: { valid: `${key},${key}`, wrong: [`${key},`, `,${key}`, `${key},,${key}`, `${key}, ${key}`, `${key};${key}`] },
  email: {
    valid: 'owner@example.com',
    wrong: ['owner', '@example.com', 'owner@', 'a b@example.com', 'a@example.com,b@example.com'],
  },
  hostPorts: {
    valid: 'a:9092,[::1]:9092',
    wrong: [
      ',a:9092',
      'a:9092,',
      'a:9092,,b:9092',
      'a:9092, b:9092',
      'a',
      'a:',
      ':9092',
      'a:09092',
      'a:0',
      'a:65536',
      'a:9e3',
      '::1:9092',
      'a:9092;b:9092',
      'kafka://a:9092',
    ],
  },
  networks: {
    valid: '10.0.0.0/8,fd00::/8,192.0.2.1',
    wrong: [
      '10.0.0.0/',
      '10.0.0.0/8,',
      ',10.0.0.0/8',
      '10.0.0.0/8,,192.0.2.1',
      '10.0.0.0/8, 192.0.2.1',
      '10.0.0.0/08',
      '10.0.0.0/+8',
      '10.0.0.0/8e0',
      '10.0.0.0/0x8',
      '10.0.0.0/-1',
      '10.0.0.0/33',
      '10.0.0.0/8/8',
      '10.0.0.0 /8',
      '10.0.0/8',
      '10.0.0.00/8',
      '010.0.0.0/8',
      '10.0.0.1/8',
      '0xa.0.0.0/8',
      '/8',
      'fd00::/129',
      'FD00::/8',
      'fd00:0::/8',
      '[fd00::]/8',
      'fe80::1%eth0',
      'example.com',
    ],
  },
  ports: {
    valid: '8443,25',
    wrong: [
      '8443,',
      ',25',
      '8443,,25',
      '8443, 25',
      '0',
      '65536',
      '-25',
      '+25',
      '025',
      '0x19',
      '2e3',
      '8443-8445',
      'https',
    ],
  },
  servers: {
    valid: '192.0.2.1,[2001:db8::1]:53,192.0.2.2:5353',
    wrong: [
      '192.0.2.1,',
      ',192.0.2.1',
      '192.0.2.1, 192.0.2.2',
      '192.0.2.1:',
      '192.0.2.1:0',
      '192.0.2.1:053',
      '192.0.2',
      'dns.example.com',
      '2001:db8::1]:53',
      '192.0.2.1/32',
    ],
  },
  claim: { valid: 'email', wrong: ['a b', 'ü'] },
  ehloName: { valid: 'mail.example.com', wrong: ['a_b', 'a b', 'a.', '127.0.0.1:25', '[127.0.0.1]', '[::1]', '[a]'] },
  exemptions: {
    valid: 'localhost,.example.com,*.example.org,10.0.0.0/8,[::1]:8443,a.example:80',
    wrong: ['a,', ',a', 'a,,b', 'a, b', '10.0.0.0/', '10.0.0.0/33', 'a:', 'a:080', 'a:65536', 'http://a', '**.a'],
  },
};

const byKind: Partial<Record<Kind, readonly SettingName[]>> = {
  share: ['OTEL_TRACES_SAMPLER_ARG'],
  url: ['PUBLIC_API_URL', 'PUBLIC_SANDBOX_URL', 'ERROR_CATALOG_URL', 'OIDC_ISSUER', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  origin: ['DASHBOARD_URL'],
  origins: ['PORTAL_FRAME_ANCESTORS'],
  template: ['TRACE_URL'],
  secretUrl: ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL'],
  host: ['HOST', 'GRPC_HOST', 'EGRESS_PROXY_HOST'],
  hostPort: ['METRICS_ADDRESS'],
  target: ['AUTH_ADDRESS', 'RESOURCES_ADDRESS', 'WEBHOOKS_ADDRESS', 'ALERTS_ADDRESS'],
  name: ['KAFKA_PREFIX', 'DATABASE_ROLE_PREFIX'],
  key: ['ENCRYPTION_KEY', 'SESSION_KEY'],
  keys: ['ENCRYPTION_KEY_PREVIOUS'],
  email: ['OWNER_EMAIL'],
  hostPorts: ['KAFKA_BROKERS', 'REDIS_SENTINELS'],
  networks: ['TRUSTED_PROXIES', 'WEBHOOK_ALLOW_CIDRS', 'WEBHOOK_DENY_CIDRS'],
  ports: ['WEBHOOK_ALLOW_PORTS'],
  servers: ['WEBHOOK_DNS_SERVERS'],
  exemptions: ['WEBHOOK_NO_PROXY'],
  claim: ['OIDC_EMAIL_CLAIM'],
  ehloName: ['SMTP_EHLO_NAME'],
  choice: ['LOG_LEVEL', 'REQUEST_LOG', 'KAFKA_SASL_MECHANISM', 'OTEL_TRACES_SAMPLER', 'SMTP_TLS'],
};

/** Kind of a setting. Numbers and flags are recognized by their defaults. */
function kindOf(name: SettingName): Kind {
  for (const [kind, names] of Object.entries(byKind)) if (names.includes(name)) return kind as Kind;
  const { default: value } = settingsTable[name];
  if (value === 'true' || value === 'false') return 'flag';
  return /^\d+$/.test(value) ? 'number' : 'text';
}

const isSecret = (name: SettingName) => 'secret' in settingsTable[name];

/** Message of the error that ends the start, or the setting as read. */
function read(name: SettingName, value: string): { message: string } | { setting: unknown } {
  try {
    return { setting: (readSettings({ [name]: value }) as AllSettings)[name] };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return { message: error.message };
  }
}

function expectRefusal(name: SettingName, value: string): void {
  const result = read(name, value);
  if (!('message' in result)) throw new Error(`${name}=${JSON.stringify(value)} was read as ${String(result.setting)}`);
  const { message } = result;
  expect(message).toMatch(new RegExp(`^${name}: `));
  expect(message).not.toMatch(/[\r\n]/);
  if (isSecret(name)) {
    expect(value.length > 3 && message.includes(value)).toBe(false);
    return;
  }
  // A value with control characters is shown as a JSON string; a list only with its wrong part.
  const parts = [value, JSON.stringify(value).slice(1, -1), ...value.split(',').filter((part) => part !== '')];
  expect(parts.some((part) => message.includes(`"${part}"`))).toBe(true);
}

/** Variables that other programs read as well, with blanks and empty parts. */
const isStandard = (name: SettingName) => 'isStandard' in settingsTable[name];

test.each([
  ['HTTPS_PROXY', ' http://proxy:3128 ', 'http://proxy:3128'],
  ['NO_PROXY', 'localhost, .example.com,,10.0.0.0/8 ', ['localhost', '.example.com', '10.0.0.0/8']],
] as const)('%s is read as other programs read it', (name, value, setting) => {
  expect(isStandard(name)).toBe(true);
  expect(read(name, value)).toEqual({ setting });
  expectRefusal(name, name === 'NO_PROXY' ? '10.0.0.0/33' : 'a\nb');
});

describe.each(settingNames.filter((name) => !isStandard(name)))('%s', (name) => {
  const kind = kindOf(name);
  const { valid, wrong } = kinds[kind];
  const value = valid === '' ? settingsTable[name].default : valid;

  test(`accepts a value of its kind (${kind})`, () => {
    const used = kind === 'number' ? settingsTable[name].default : value;
    expect(read(name, used)).toHaveProperty('setting');
  });

  test('rejects values that are not canonical, in one line with its name and the value', () => {
    for (const text of wrong) expectRefusal(name, text);
  });

  test('rejects blanks around a value, and control characters in it', () => {
    const text = value === '' ? 'x' : value;
    for (const blank of [' ', '\t', '\n', '\r\n', '\u00a0', '\u2003', '\ufeff']) {
      expectRefusal(name, `${blank}${text}`);
      expectRefusal(name, `${text}${blank}`);
    }
    for (const control of ['\u0000', '\n', '\t', '\u007f']) expectRefusal(name, `${text}${control}${text}`);
  });

  test('reads random texts as they are, or rejects them', () => {
    const pieces = [
      '0',
      '1',
      '9',
      '-',
      '+',
      '.',
      ',',
      '/',
      ':',
      '[',
      ']',
      ' ',
      'e',
      'x',
      'a',
      '_',
      '%',
      '*',
      '\n',
      value,
    ];
    const texts = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        const result = read(name, text);
        if ('message' in result) return expectRefusal(name, text);
        const { setting } = result;
        // The parsed value has one spelling: writing it gives the text that was read.
        if (typeof setting === 'number' && kind !== 'share') expect(String(setting)).toBe(text);
        if (Array.isArray(setting)) expect(setting.join(',')).toBe(text);
        if (typeof setting === 'string') expect([text, text.replace(/\/+$/, '')]).toContain(setting);
      }),
      { numRuns: 40 },
    );
  });
});

test.each<[SettingName, string]>([
  ['HOST', '::'],
  ['HOST', 'localhost'],
  ['AUTH_ADDRESS', 'auth:9101'],
  ['AUTH_ADDRESS', 'localhost:9101'],
  ['AUTH_ADDRESS', 'rms-auth.rms.svc.cluster.local:9101'],
  ['AUTH_ADDRESS', '[::1]:9101'],
  ['AUTH_ADDRESS', 'dns:///rms-auth:9090'],
  ['METRICS_ADDRESS', '[::]:9464'],
  ['METRICS_ADDRESS', '0.0.0.0:0'],
  ['KAFKA_BROKERS', 'kafka-0.kafka:9092,kafka-1.kafka:9092'],
  ['TRUSTED_PROXIES', '0.0.0.0/1,2001:db8::/32,::1'],
  ['WEBHOOK_NO_PROXY', '*'],
  ['WEBHOOK_NO_PROXY', '10.0.0.1,[2001:db8::1]:443,*.internal.example'],
  ['OIDC_ISSUER', 'https://tenant.example.com/'],
  ['PUBLIC_API_URL', 'http://127.0.0.1:8080'],
])('%s=%s is accepted', (name, value) => {
  expect(read(name, value)).toHaveProperty('setting');
});

test('a variable of the system may contain blanks and empty parts, which other programs accept', () => {
  expect(readSettings({ NO_PROXY: ' localhost, .example.com,, 10.0.0.0/8 ,' }).WEBHOOK_NO_PROXY).toEqual([
    'localhost',
    '.example.com',
    '10.0.0.0/8',
  ]);
});
