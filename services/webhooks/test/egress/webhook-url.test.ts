import { parseProxy } from '@rms/net/dial';
import { checkUrl, createEgress, type EgressConfig } from '@rms/net/guarded-http';

const names: Record<string, string[]> = {
  'public.example': ['93.184.215.14'],
  'rebinding.example': ['93.184.215.14', '10.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'six.example': ['2606:4700::1111'],
  'ula.example': ['fd00::1'],
  'receiver.default.svc.cluster.local': ['10.1.4.5'],
  'other.default.svc.cluster.local': ['10.2.4.5'],
};
const resolve = (name: string) => [Promise.resolve(names[name] ?? [])];
const closed = { allowHttp: false, allowCidrs: [] };
const check = (url: string, egress: EgressConfig = closed) => checkUrl(url, { ...createEgress(egress), resolve });

describe('webhook URLs', () => {
  test.each(['a', '.', 'a.', '[', ':', '@', '0', '%', '/', '\\', '\t', '.local', '\ud800'])(
    'a text of 64 KiB is rejected, and a text just below the limit is checked: %j',
    async (part) => {
      for (const head of ['', 'https://', 'https://x.local', 'https://user:']) {
        for (const size of [65_536, 2_000]) {
          const { violations } = await check(head + part.repeat(size / part.length));
          if (size > 2_048) expect(violations).toHaveLength(1);
          else expect(violations.length).toBeLessThanOrEqual(1);
        }
      }
    },
  );

  test.each([
    'http://public.example/hook',
    'ftp://public.example/',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'not a url',
    '/hook',
    '//public.example',
    '',
    'https://user@public.example/',
    'https://user:password@public.example/',
    `https://public.example/${'x'.repeat(2048)}`,
    'https://localhost/',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://app.localhost/',
    'https://printer.local/',
    'https://vault.internal/',
    'https://metadata.google.internal/',
    'https://nas.home.arpa/',
    'https://intranet/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://127.0.0.1.:8443/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://%31%32%37.0.0.1/',
    'https://１２７.0.0.1/',
    'https://0/',
    'https://0.0.0.0/',
    'https://10.1.2.3/',
    'https://100.64.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://172.16.0.1/',
    'https://172.31.255.255/',
    'https://192.168.0.1/',
    'https://192.0.0.192/',
    'https://198.18.0.1/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[64:ff9b:1::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[2001:0:7f00:1::]/',
    'https://[2001:db8::1]/',
    'https://[fe80::1]/',
    'https://[fc00::1]/',
    'https://[fd00:ec2::254]/',
    'https://[ff02::1]/',
    'https://[100::1]/',
    'https://[3fff::1]/',
    'https://metadata.example/',
    'https://rebinding.example/',
    'https://ula.example/',
  ])('%s is rejected', async (url) => {
    expect((await check(url)).violations).toEqual([{ field: 'url', message: expect.any(String) }]);
  });

  test.each([
    ['https://public.example/hook?a=1', 'https://public.example/hook?a=1'],
    ['HTTPS://Public.Example:8443/Hook#part', 'https://public.example:8443/Hook'],
    ['https://six.example/', 'https://six.example/'],
    ['https://93.184.215.14/', 'https://93.184.215.14/'],
    ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
    ['https://not-yet.example/', 'https://not-yet.example/'],
  ])('%s is accepted', async (url, normal) => {
    expect(await check(url)).toEqual({ url: normal, violations: [] });
  });

  test.each([80, 443, 1024, 8080, 8443, 9000, 65535])('port %i is accepted', async (port) => {
    expect((await check(`https://public.example:${port}/`)).violations).toEqual([]);
  });

  test.each([1, 22, 25, 79, 81, 442, 444, 1023, 6379, 27017])(
    'port %i is rejected unless the operator allows it',
    async (port) => {
      const url = `https://public.example:${port}/`;
      expect((await check(url)).violations).toEqual([
        {
          field: 'url',
          message: 'must have port 443 or 80, or a port from 1024 that is not reserved for another well-known service',
        },
      ]);
      expect((await check(url, { ...closed, allowPorts: [port] })).violations).toEqual([]);
    },
  );

  test('with an egress proxy the same rules apply, but a name may resolve only at the proxy', async () => {
    const egress = { ...closed, proxy: () => parseProxy('http://proxy.example:3128') };
    expect((await check('https://not-yet.example/', egress)).violations).toEqual([]);
    for (const url of [
      'https://10.0.0.1/',
      'https://metadata.example/',
      'https://vault.internal/',
      'https://public.example:22/',
      'http://public.example/',
    ]) {
      expect((await check(url, egress)).violations).toHaveLength(1);
    }
    const open = { ...egress, allowCidrs: ['10.1.0.0/16'] };
    expect((await check('https://known-there.internal/', open)).violations).toEqual([]);
    const exempt = { ...open, noProxy: ['.internal'] };
    expect((await check('https://known-there.internal/', exempt)).violations).toHaveLength(1);
  });

  test('a name that takes too long to resolve is accepted, because every delivery checks again', async () => {
    const never = () => [new Promise<string[]>(() => {})];
    const egress = { ...createEgress(closed), resolve: never };
    const { violations } = await checkUrl('https://slow.example/', egress);
    expect(violations).toEqual([]);
  });

  test('destinations that the operator allows are accepted, and other private addresses are rejected', async () => {
    const egress = { allowHttp: true, allowCidrs: ['127.0.0.0/8', '10.1.0.0/16'] };
    for (const url of [
      'http://127.0.0.1:9000/',
      'http://localhost:9000/',
      'https://10.1.2.3/',
      'http://public.example/',
    ]) {
      expect((await check(url, egress)).violations).toEqual([]);
    }
    for (const url of ['http://10.2.0.1/', 'http://[::1]/', 'http://192.168.0.1/', 'http://rebinding.example/']) {
      expect((await check(url, egress)).violations).toHaveLength(1);
    }
  });

  test('destinations that the operator denies are rejected, although they are public or allowed', async () => {
    const egress = {
      ...closed,
      allowCidrs: ['10.1.0.0/16'],
      denyCidrs: ['93.184.215.0/24', '2606:4700::/32', '10.1.4.0/24'],
    };
    for (const url of [
      'https://93.184.215.14/',
      'https://public.example/',
      'https://[2606:4700::1111]/',
      'https://six.example/',
      'https://10.1.4.5/',
      'https://receiver.default.svc.cluster.local/',
    ]) {
      expect((await check(url, egress)).violations).toHaveLength(1);
    }
    expect((await check('https://10.1.5.1/', egress)).violations).toEqual([]);
    expect((await check('https://93.184.216.34/', egress)).violations).toEqual([]);
  });

  test('messages name what the installation permits', async () => {
    const messageOf = async (url: string, egress?: EgressConfig) => (await check(url, egress)).violations[0]?.message;
    const open = { allowHttp: true, allowCidrs: ['10.1.0.0/16'] };
    expect(await messageOf('ftp://public.example/')).toBe('must be an https URL');
    expect(await messageOf('ftp://public.example/', open)).toBe('must be an http or https URL');
    for (const url of ['https://10.2.0.1/', 'https://rebinding.example/', 'https://printer.local/']) {
      expect([url, await messageOf(url)]).toEqual([
        url,
        'must be publicly reachable, not a local name or a private address',
      ]);
      expect([url, await messageOf(url, open)]).toEqual([
        url,
        'must be publicly reachable, or in a network that this installation permits',
      ]);
    }
  });

  test('a local name is accepted only if it resolves into an allowed network', async () => {
    const egress = { allowHttp: true, allowCidrs: ['10.1.0.0/16'] };
    expect((await check('http://receiver.default.svc.cluster.local/', egress)).violations).toEqual([]);
    for (const url of ['http://other.default.svc.cluster.local/', 'http://nowhere.local/', 'http://localhost/']) {
      expect((await check(url, egress)).violations).toHaveLength(1);
    }
    expect((await check('https://receiver.default.svc.cluster.local/')).violations).toHaveLength(1);
  });
});
