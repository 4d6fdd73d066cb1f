import { createAddressGuard } from '../../src/egress/addresses.ts';

const permitted = (address: string, allow: readonly string[] = [], deny: readonly string[] = []) =>
  createAddressGuard(allow, deny)(address);

describe('IPv6 addresses that embed an IPv4 address', () => {
  test.each([
    ['64:ff9b::5db8:d70e', 'NAT64 of a public address'],
    ['64:ff9b::93.184.215.14', 'the same in dotted form'],
    ['64:ff9b:1::5db8:d70e', 'local NAT64'],
    ['64:ff9b:1:fffe::5db8:d70e', 'local NAT64 in a subnet'],
    ['64:ff9b:1:5db8::808:808', 'local NAT64 in a subnet that is also a public address'],
    ['64:ff9b:1:5db8:d7:e00::', 'local NAT64 with a prefix of 48 bits'],
  ])('%s is permitted: %s', (address) => {
    expect(permitted(address)).toBe(true);
    expect(permitted(address, [], ['93.184.0.0/16'])).toBe(false);
  });

  test.each([
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::168.63.129.16',
    '64:ff9b:1::a9fe:a9fe',
    '64:ff9b:1:fffe::10.0.0.1',
    '64:ff9b:1:a9fe:a9:fe00::',
    '64:ff9b:1:a00:0:500::',
    '64:ff9b:1:a01::808:808',
    '64:ff9b:1:c0a8::808:808',
    '64:ff9b:1:a01::',
    // The translator may use a prefix of 48 bits and ignore the rest.
    '64:ff9b:1:a00:0:500:808:808',
    '64:ff9b:1:0:a:0:500:0',
    '64:ff9b:1:a:0:5::',
  ])('%s is not permitted, even if its network is allowed', (address) => {
    expect(permitted(address)).toBe(false);
    expect(permitted(address, ['64:ff9b::/96', '64:ff9b:1::/48'])).toBe(false);
  });

  test.each([
    ['2002:a9fe:a9fe::1', '2002::/16'],
    ['2002:a00:1::1', '2002::/16'],
    ['::10.0.0.1', '::/96'],
    ['2001:0:5db8:d70e::f5ff:fffe', '2001::/32'],
    ['fd00::5efe:a00:1', 'fd00::/8'],
  ])('%s is not permitted by %s, only together with its IPv4 address', (address, network) => {
    expect(permitted(address, [network])).toBe(false);
    expect(permitted(address, [network, '10.0.0.0/8', '169.254.169.254/32'])).toBe(true);
  });

  test('allowed private IPv4 is reachable through NAT64, and denied IPv4 is not', () => {
    expect(permitted('64:ff9b::10.0.0.1', ['10.0.0.0/8'])).toBe(true);
    expect(permitted('64:ff9b::10.0.0.1', ['10.0.0.0/8'], ['10.0.0.1/32'])).toBe(false);
    expect(permitted('64:ff9b::93.184.215.14', [], ['64:ff9b::/96'])).toBe(false);
  });

  test.each(['2002:5db8:d70e::1', '::ffff:93.184.215.14', '::93.184.215.14', '2001:0:5db8:d70e::1'])(
    '%s is not public, although its IPv4 address is',
    (address) => {
      expect(permitted(address)).toBe(false);
    },
  );

  test('loopback and private IPv6 are not taken for embedded addresses', () => {
    expect(permitted('::1', ['::1/128'])).toBe(true);
    expect(permitted('fd00::1', ['fd00::/8'])).toBe(true);
    expect(permitted('2606:4700::1111')).toBe(true);
    expect(permitted('::1')).toBe(false);
  });
});
