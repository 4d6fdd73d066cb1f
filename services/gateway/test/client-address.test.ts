import type { IncomingMessage } from 'node:http';
import { networkOf, normalizeAddress, parseCidrs } from '@rms/base/cidr';
import { clientOf, createProxyWarning } from '@rms/net/http';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { readGatewayConfig } from '../src/config.ts';

describe('The client address', () => {
  const trusted = parseCidrs(['10.0.0.0/8', '2001:db8:1::/48']);
  const noProxy = 'not a trusted proxy';
  const noEntry = 'no further entry';
  const noAddress = 'the next entry is not an address';
  const derive = (remoteAddress: string, forwarded?: string) => {
    const request = { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } };
    return clientOf(request as unknown as IncomingMessage, trusted);
  };

  test.each([
    // Columns: peer, X-Forwarded-For, address, source, reason
    ['203.0.113.1', undefined, '203.0.113.1', 'socket', noProxy],
    ['203.0.113.1', '192.0.2.1', '203.0.113.1', 'socket', noProxy],
    ['::ffff:203.0.113.1', undefined, '203.0.113.1', 'socket', noProxy],
    ['10.0.0.1', undefined, '10.0.0.1', 'socket', noEntry],
    ['10.0.0.1', '', '10.0.0.1', 'socket', noEntry],
    ['10.0.0.1', '192.0.2.1', '192.0.2.1', '10.0.0.1', noProxy],
    ['::ffff:10.0.0.1', '192.0.2.1', '192.0.2.1', '10.0.0.1', noProxy],
    ['10.0.0.1', '198.51.100.1, 192.0.2.1', '192.0.2.1', '10.0.0.1', noProxy],
    ['10.0.0.1', '192.0.2.1, 10.0.0.2', '192.0.2.1', '10.0.0.2', noProxy],
    ['10.0.0.1', '192.0.2.1,10.0.0.3 ,\t10.0.0.2', '192.0.2.1', '10.0.0.3', noProxy],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3', '10.0.0.2', noEntry],
    ['10.0.0.1', '192.0.2.1,, 10.0.0.2', '10.0.0.2', '10.0.0.1', noAddress],
    ['10.0.0.1', ',10.0.0.2', '10.0.0.2', '10.0.0.1', noAddress],
    ['10.0.0.1', '192.0.2.1, ', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '192.0.2.1, unknown', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '192.0.2.1, _hidden', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '192.0.2.1:4711', '192.0.2.1', '10.0.0.1', noProxy],
    ['10.0.0.1', '192.0.2.1:port', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '"192.0.2.1:4711"', '192.0.2.1', '10.0.0.1', noProxy],
    ['10.0.0.1', '"192.0.2.1', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '"', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '0300.0.2.1', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '192.0.2', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '192.0.2.256', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '192.0.2.1/32', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', `${' '.repeat(200)}192.0.2.1`, '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '::ffff:192.0.2.1', '192.0.2.1', '10.0.0.1', noProxy],
    ['10.0.0.1', '[::ffff:c000:201]:443', '192.0.2.1', '10.0.0.1', noProxy],
    ['10.0.0.1', '192.0.2.1, ::ffff:10.0.0.9', '192.0.2.1', '10.0.0.9', noProxy],
    ['10.0.0.1', '[2001:db8:2::1]', '2001:db8:2::1', '10.0.0.1', noProxy],
    ['10.0.0.1', '"[2001:db8:2::1]:443"', '2001:db8:2::1', '10.0.0.1', noProxy],
    ['10.0.0.1', '[2001:db8:2::1]:', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', '[2001:db8:2::1', '10.0.0.1', 'socket', noAddress],
    ['10.0.0.1', 'fe80::1%eth0', 'fe80::1', '10.0.0.1', noProxy],
    ['10.0.0.1', '2002:c000:201::1', '2002:c000:201::1', '10.0.0.1', noProxy],
    ['10.0.0.1', '64:ff9b::192.0.2.1', '64:ff9b::c000:201', '10.0.0.1', noProxy],
    ['2001:db8:1::5', '2001:DB8:0002:0::1, 2001:db8:1::6', '2001:db8:2::1', '2001:db8:1::6', noProxy],
    ['fe80::1%eth0', '192.0.2.1', 'fe80::1', 'socket', noProxy],
    ['', '192.0.2.1', '', 'socket', noProxy],
  ])('peer %s, X-Forwarded-For %s: %s', (remoteAddress, forwarded, address, determinedBy, reason) => {
    expect(derive(remoteAddress, forwarded)).toMatchObject({ address, determinedBy, reason });
  });

  test.each([
    // Columns: peer, Forwarded, address, reason
    ['203.0.113.1', 'for=192.0.2.1', '203.0.113.1', noProxy],
    ['10.0.0.1', '', '10.0.0.1', noEntry],
    ['10.0.0.1', 'for=192.0.2.1', '192.0.2.1', noProxy],
    ['10.0.0.1', 'For = 192.0.2.1', '10.0.0.1', noAddress],
    ['10.0.0.1', 'proto=https;FOR="192.0.2.1:4711";by=10.0.0.1', '192.0.2.1', noProxy],
    ['10.0.0.1', 'for="192.0.2.1:_port"', '192.0.2.1', noProxy],
    ['10.0.0.1', 'for=192.0.2.1:4711', '192.0.2.1', noProxy],
    ['10.0.0.1', 'for="[2001:db8:2::1]"', '2001:db8:2::1', noProxy],
    ['10.0.0.1', 'for="[2001:DB8:2::1]:4711" ; proto=http', '2001:db8:2::1', noProxy],
    ['10.0.0.1', 'for=[2001:db8:2::1]', '2001:db8:2::1', noProxy],
    ['10.0.0.1', 'for=192.0.2.1, for=10.0.0.2', '192.0.2.1', noProxy],
    ['10.0.0.1', 'for=198.51.100.1, for=192.0.2.1', '192.0.2.1', noProxy],
    ['10.0.0.1', 'for=192.0.2.1;host="a,b;c=\\"d", for="10.0.0.2"', '192.0.2.1', noProxy],
    ['10.0.0.1', 'for=192.0.2.1, proto=https', '10.0.0.1', noEntry],
    ['10.0.0.1', 'for=192.0.2.1, for=unknown', '10.0.0.1', noAddress],
    ['10.0.0.1', 'for=192.0.2.1, for=_hidden', '10.0.0.1', noAddress],
    ['10.0.0.1', 'for=192.0.2.1, for="_hidden:_port"', '10.0.0.1', noAddress],
    ['10.0.0.1', 'for=192.0.2.1;for=192.0.2.2', '10.0.0.1', noAddress],
    ['10.0.0.1', 'for=192.0.2.1, nonsense', '10.0.0.1', noAddress],
    // A client cannot swallow a proxy's entry.
    ['10.0.0.1', 'for=", for=192.0.2.1', '192.0.2.1', noProxy],
    ['10.0.0.1', 'for="\\", for=192.0.2.1;proto=https', '192.0.2.1', noProxy],
    ['10.0.0.1', 'for="x\\", for="192.0.2.1"', '192.0.2.1', noProxy],
  ])('peer %s, Forwarded %s: %s', (remoteAddress, forwarded, address, reason) => {
    const request = { socket: { remoteAddress }, headers: { forwarded } };
    expect(clientOf(request as unknown as IncomingMessage, trusted)).toMatchObject({ address, reason });
  });

  test.each([
    ['HTTPS', { 'x-forwarded-proto': 'HTTPS' }, true],
    ['white space', { 'x-forwarded-proto': ' https\t' }, true],
    ['http', { 'x-forwarded-proto': 'http' }, false],
    ['nothing', {}, false],
    ['the nearest proxy, if only that is known', { 'x-forwarded-proto': 'https, http' }, false],
    ['the nearest proxy, whatever the client sent', { 'x-forwarded-proto': 'http,https' }, true],
    [
      'the outermost trusted proxy',
      { 'x-forwarded-for': '192.0.2.1, 10.0.0.2', 'x-forwarded-proto': 'https, http' },
      true,
    ],
    [
      'the outermost trusted proxy, not the client',
      { 'x-forwarded-for': '192.0.2.1, 10.0.0.2', 'x-forwarded-proto': 'https, http, http' },
      false,
    ],
    [
      'the only value, if the proxies keep one',
      { 'x-forwarded-for': '192.0.2.1, 10.0.0.3, 10.0.0.2', 'x-forwarded-proto': 'https' },
      true,
    ],
    [
      'more values than addresses',
      { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https, https, http' },
      false,
    ],
    ['Forwarded', { forwarded: 'for=192.0.2.1;proto=HTTPS' }, true],
    ['Forwarded in quotes', { forwarded: 'proto="https"' }, true],
    ['Forwarded of two proxies', { forwarded: 'for=192.0.2.1;proto=https, for=10.0.0.2;proto=http' }, true],
    ['Forwarded of a client', { forwarded: 'proto=https, for=192.0.2.1;proto=http' }, false],
    ['Forwarded next to X-Forwarded-For', { forwarded: 'proto=https', 'x-forwarded-for': '192.0.2.1' }, false],
    ['X-Forwarded-Proto next to Forwarded', { forwarded: 'proto=http', 'x-forwarded-proto': 'https' }, true],
  ])('the scheme is determined from %s', (_, headers, usesHttps) => {
    const from = (remoteAddress: string) =>
      clientOf({ socket: { remoteAddress }, headers } as unknown as IncomingMessage, trusted).usesHttps;
    expect([from('10.0.0.1'), from('203.0.113.1')]).toEqual([usesHttps, false]);
  });

  test('X-Forwarded-For wins over Forwarded, which proxies pass on from clients', () => {
    const headers = { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=198.51.100.1' };
    const request = { socket: { remoteAddress: '10.0.0.1' }, headers } as unknown as IncomingMessage;
    expect(clientOf(request, trusted)).toMatchObject({ address: '192.0.2.1', forwarded: '192.0.2.1' });
  });

  test('at most 32 trusted hops are followed, regardless of the header length', () => {
    const hops = Array.from({ length: 2_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    expect(derive('10.0.0.1', hops.join(','))).toMatchObject({
      address: hops.at(-32),
      determinedBy: hops.at(-31),
      peer: '10.0.0.1',
      reason: 'too many trusted hops',
    });
    expect(derive('10.0.0.1', `192.0.2.1, ${hops.slice(0, 31).join(',')}`).address).toBe('192.0.2.1');
    expect(derive('10.0.0.1', ','.repeat(16_000))).toMatchObject({ address: '10.0.0.1', reason: noAddress });
  });

  test('is computed once per request', () => {
    let lookups = 0;
    const socket = {
      get remoteAddress() {
        lookups += 1;
        return '203.0.113.1';
      },
    };
    const request = { socket, headers: {} } as unknown as IncomingMessage;
    expect(clientOf(request, trusted)).toBe(clientOf(request, trusted));
    expect(lookups).toBe(1);
  });

  test('addresses are normalized', () => {
    expect(normalizeAddress('::FFFF:c000:0201')).toBe('192.0.2.1');
    expect(normalizeAddress('2001:0db8::0')).toBe('2001:db8::');
    expect(normalizeAddress('0:0:0:0:0:ffff:192.0.2.1')).toBe('192.0.2.1');
    expect(normalizeAddress('::')).toBe('::');
    expect(normalizeAddress('fe80::1%eth0')).toBe('fe80::1');
    expect(normalizeAddress('::192.0.2.1')).toBe('::c000:201');
    for (const text of [
      '',
      'localhost',
      '1',
      '0x7f.1',
      '01.2.3.4',
      '1.2.3.4/32',
      '[1.2.3.4]',
      '1.2.3.4%eth0',
      '::ffff:0300.0.2.1',
      '::ffff:1.2.3',
      '1::2::3',
      ':::',
      '12345::',
      'fe80::1%',
      'fe80::1%eth0x y',
    ]) {
      expect([text, normalizeAddress(text)]).toEqual([text, undefined]);
    }
  });

  test('networks are matched by family and prefix length', () => {
    const list = parseCidrs(['192.0.2.0/24', '::ffff:198.51.100.0/120', '2001:db8::/32', '203.0.113.7']);
    for (const address of ['192.0.2.255', '198.51.100.9', '2001:db8:ffff::1', '203.0.113.7']) {
      expect([address, list.has(address)]).toEqual([address, true]);
    }
    for (const address of ['192.0.3.0', '198.51.101.1', '2001:db9::1', '203.0.113.8', 'nonsense', '']) {
      expect([address, list.has(address)]).toEqual([address, false]);
    }
  });

  test('many networks, boundaries and overlaps are matched exactly', () => {
    const cidrs = Array.from({ length: 200 }, (_, index) => [`10.${index}.0.0/17`, `2001:db8:${index}::/49`]).flat();
    const list = parseCidrs([...cidrs, '10.7.0.0/16', '10.7.3.0/24', '300::/120', '255.255.255.255']);
    for (const address of ['10.0.0.0', '10.199.127.255', '10.7.255.255', '2001:db8:99:7fff::', '255.255.255.255']) {
      expect([address, list.has(address)]).toEqual([address, true]);
    }
    for (const address of ['9.255.255.255', '10.0.128.0', '10.200.0.0', '2001:db8:99:8000::', '255.255.255.254']) {
      expect([address, list.has(address)]).toEqual([address, false]);
    }
  });

  test('an allowlist, unlike TRUSTED_PROXIES, may contain all addresses', () => {
    expect(parseCidrs(['0.0.0.0/0']).has('203.0.113.1')).toBe(true);
    expect(parseCidrs(['0.0.0.0/0']).has('2001:db8::1')).toBe(false);
    expect(parseCidrs(['::/0']).has('2001:db8::1')).toBe(true);
    expect(parseCidrs(['::ffff:0:0/96']).has('203.0.113.1')).toBe(true);
  });

  test.each([
    '0.0.0.0/0',
    '::/0',
    '::ffff:0:0/96',
    '0.0.0.0/1,128.0.0.0/1',
    '0.0.0.0/1,128.0.0.0/2,192.0.0.0/3',
    '::ffff:0:0/97,::ffff:128.0.0.0/97',
    '::/1,8000::/1',
    '2000::/3',
    '2000::/4,3000::/4,10.0.0.0/8',
    '::ffff:10.0.0.0/64',
    '10.0.0.0/8,0.0.0.0/00',
    '10.0.0.0/33',
    '10',
    'proxy',
    '10.0.0.0/8/8',
    '10.0.0.0/',
  ])('TRUSTED_PROXIES=%s is rejected at startup', (value) => {
    expect(() => readGatewayConfig(readSettings({ TRUSTED_PROXIES: value }))).toThrow(/^TRUSTED_PROXIES/);
  });
});

describe('a warning of public addresses that are proxies', () => {
  const trusted = parseCidrs(['130.211.0.0/22', '35.191.0.0/16']);
  const receiveAll = (requests: readonly (readonly [peer: string, forwarded: string])[]) => {
    const peers: unknown[] = [];
    const destination = { write: (line: string) => void peers.push(JSON.parse(line).peer) };
    const warn = createProxyWarning(trusted, createLogger({ name: 'gateway', level: 'info', destination }));
    for (const [remoteAddress, forwarded] of requests) {
      const headers = { 'x-forwarded-for': forwarded };
      warn(clientOf({ socket: { remoteAddress }, headers } as unknown as IncomingMessage, trusted));
    }
    return peers;
  };
  const many = (count: number, forwarded: (client: string) => string, peer = '35.191.0.7') =>
    Array.from({ length: count }, (_, n) => [peer, forwarded(`203.0.${n % 250}.${1 + (n % 7)}`)] as const);

  test.each([
    ['a balancer that appends its own public address', many(60, (client) => `${client}, 34.117.0.9`), ['34.117.0.9']],
    ['the same, with texts that clients add', many(60, (client) => `10.0.0.1, ${client}, 34.117.0.9`), ['34.117.0.9']],
    ['a delivery network that connects directly', many(60, (client) => client, '173.245.48.1'), ['173.245.48.1']],
    ['many clients behind a trusted balancer', many(60, (client) => client), []],
    ['many clients with a proxy each', many(60, (client) => `192.0.2.1, ${client}`), []],
    ['an office with a proxy that names internal addresses', many(60, (_) => '10.1.2.3, 198.51.100.1'), []],
    ['a client that repeats itself', many(60, () => '203.0.113.9, 198.51.100.1'), []],
  ])('%s', (_, requests, expected) => {
    expect(receiveAll(requests)).toEqual(expected);
  });
});

test('X-Forwarded-For from an internal address that is not trusted is reported once per address', () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const trusted = parseCidrs(['10.0.0.0/8']);
  const warn = createProxyWarning(trusted, createLogger({ name: 'gateway', level: 'info', destination }));
  const receive = (remoteAddress: string, headers: Record<string, string> = { 'x-forwarded-for': '192.0.2.1' }) =>
    warn(clientOf({ socket: { remoteAddress }, headers } as unknown as IncomingMessage, trusted));
  receive('10.0.0.1');
  receive('203.0.113.1');
  receive('192.168.0.1', {});
  expect(lines).toEqual([]);
  for (let i = 0; i < 3; i += 1) receive('::ffff:192.168.0.1');
  receive('fd00::1', { forwarded: 'for=192.0.2.1' });
  expect(lines).toMatchObject([
    { level: 'warn', peer: '192.168.0.1' },
    { level: 'warn', peer: 'fd00::1' },
  ]);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['::1', '::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
