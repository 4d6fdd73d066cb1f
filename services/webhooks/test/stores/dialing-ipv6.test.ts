import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEgress, createGuardedAgent } from '@rms/net/guarded-http';
import { describeWith, disposable, perTest, startDnsServer, startFrozenReceiver, watchDials } from '@rms/testkit';
import { soleAttemptAt } from '../attempt-at.ts';

describeWith('ipv6', 'dialing an endpoint', () => {
  afterEach(async () => {
    six.closeAllConnections();
  });
  const dns = perTest(() =>
    startDnsServer({
      'both.example': { a: ['127.0.0.1'], aaaa: ['::1'] },
      'no-a.example': { aaaa: ['::1'], silent: 'a' },
    }),
  );
  const six = perTest(() => createServer((request, response) => void request.resume().on('end', () => response.end())));

  const attempt = (url: string) => {
    const allowCidrs = ['127.0.0.1/32', '::1/128'];
    const egress = createEgress({ allowHttp: true, allowCidrs, dnsServers: [dns.address] });
    return soleAttemptAt(url, createGuardedAgent({ egress }));
  };

  test('the first of several addresses that connects is used', async () => {
    await using frozen = disposable(await startFrozenReceiver());
    await using watch = disposable(watchDials());
    await once(six.listen(frozen.port, '::1'), 'listening');
    const result = await attempt(`http://both.example:${frozen.port}/`);
    expect(result).toMatchObject({ statusCode: 200, address: '::1' });
    expect(watch.additional()).toEqual([`127.0.0.1 port ${frozen.port}`, `::1 port ${frozen.port}`]);
  });

  test('an IPv6 address that is known is dialed although the query for IPv4 gets no response', async () => {
    await once(six.listen(0, '::1'), 'listening');
    const { port } = six.address() as AddressInfo;
    expect(await attempt(`http://no-a.example:${port}/`)).toMatchObject({ statusCode: 200, address: '::1' });
  });
});
