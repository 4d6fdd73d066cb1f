import type { IncomingMessage } from 'node:http';
import { readSettings } from '@rms/service';
import { normalizeAddress, parseCidrs } from '../src/checks/cidr-list.ts';
import { clientAddress } from '../src/checks/client-address.ts';
import { readGatewayConfig } from '../src/config.ts';

describe('The address of the client', () => {
  const trusted = parseCidrs(['10.0.0.0/8', '2001:db8:1::/48']);
  test.each([
    // peer, X-Forwarded-For, address, told by
    ['203.0.113.1', undefined, '203.0.113.1', 'socket'],
    ['203.0.113.1', '192.0.2.1', '203.0.113.1', 'socket'],
    ['::ffff:203.0.113.1', undefined, '203.0.113.1', 'socket'],
    ['10.0.0.1', undefined, '10.0.0.1', 'socket'],
    ['10.0.0.1', '192.0.2.1', '192.0.2.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '192.0.2.1', '192.0.2.1', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1, 192.0.2.1', '192.0.2.1', '10.0.0.1'],
    ['10.0.0.1', '192.0.2.1, 10.0.0.2', '192.0.2.1', '10.0.0.2'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3', '10.0.0.2'],
    ['10.0.0.1', '192.0.2.1,, 10.0.0.2', '10.0.0.2', '10.0.0.1'],
    ['10.0.0.1', '192.0.2.1:4711', '10.0.0.1', 'socket'],
    ['10.0.0.1', '0300.0.2.1', '10.0.0.1', 'socket'],
    ['10.0.0.1', '192.0.2', '10.0.0.1', 'socket'],
    ['10.0.0.1', '::ffff:192.0.2.1', '192.0.2.1', '10.0.0.1'],
    ['10.0.0.1', '[2001:db8:2::1]', '2001:db8:2::1', '10.0.0.1'],
    ['2001:db8:1::5', '2001:DB8:0002:0::1, 2001:db8:1::6', '2001:db8:2::1', '2001:db8:1::6'],
    ['', '192.0.2.1', '', 'socket'],
  ])('peer %s, X-Forwarded-For %s: %s', (remoteAddress, forwarded, address, toldBy) => {
    const request = { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } };
    expect(clientAddress(request as unknown as IncomingMessage, trusted)).toEqual({ address, toldBy });
  });

  test('an address has one spelling', () => {
    expect(normalizeAddress('::FFFF:c000:0201')).toBe('192.0.2.1');
    expect(normalizeAddress('2001:0db8::0')).toBe('2001:db8::');
    for (const text of ['', 'localhost', '1', '0x7f.1', '1.2.3.4/32', 'fe80::1%eth0x y']) {
      expect([text, normalizeAddress(text)]).toEqual([text, undefined]);
    }
  });

  test('networks are matched by family and length', () => {
    const list = parseCidrs(['192.0.2.0/24', '::ffff:198.51.100.0/120', '2001:db8::/32', '203.0.113.7']);
    for (const address of ['192.0.2.255', '198.51.100.9', '2001:db8:ffff::1', '203.0.113.7']) {
      expect([address, list.has(address)]).toEqual([address, true]);
    }
    for (const address of ['192.0.3.0', '198.51.101.1', '2001:db9::1', '203.0.113.8', 'nonsense', '']) {
      expect([address, list.has(address)]).toEqual([address, false]);
    }
  });

  test.each([
    '0.0.0.0/0',
    '::/0',
    '::ffff:0:0/96',
    '10.0.0.0/8,0.0.0.0/00',
    '10.0.0.0/33',
    '10',
    'proxy',
    '10.0.0.0/8/8',
    '10.0.0.0/',
  ])('TRUSTED_PROXIES=%s ends the start', (value) => {
    expect(() => readGatewayConfig(readSettings({ TRUSTED_PROXIES: value }))).toThrow(/^TRUSTED_PROXIES/);
  });
});
