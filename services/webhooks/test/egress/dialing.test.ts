import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { findAddresses } from '@rms/net/dial';
import { selectPermitted } from '@rms/net/egress';
import type { Authorities } from '@rms/net/guarded-http';
import { ConnectClock, createEgress, createGuardedAgent } from '@rms/net/guarded-http';
import {
  type DnsServer,
  disposable,
  freePort,
  makeCertificates,
  startDnsServer,
  startFrozenReceiver,
  startReceiver,
  suiteFolder,
  waitUntil,
  watchDials,
} from '@rms/testkit';
import { attemptAt, soleAttemptAt } from '../attempt-at.ts';

const zone = {
  'both.example': { a: ['127.0.0.1'], aaaa: ['::1'] },
  'no-aaaa.example': { a: ['127.0.0.1'], silent: 'aaaa' },
  'late-private.example': { a: ['127.0.0.1'], aaaa: ['fd00::1'], silent: 'aaaa' },
  'silent.example': { a: ['127.0.0.1'], silent: true },
  'hooks.example': { a: ['127.0.0.1'] },
  'xn--hks-snaa.example': { a: ['127.0.0.1'] },
} as const;

describe('dialing an endpoint', () => {
  let dns: DnsServer[];
  beforeEach(async () => {
    // Both servers withhold the same responses, so that a query to the second one does not help.
    dns = [await startDnsServer(zone), await startDnsServer(zone)];
  });
  afterEach(() => Promise.all(dns.map((server) => server.close())));

  const agentWith = (ca?: () => Authorities) => {
    const dnsServers = dns.map(({ address }) => address);
    const egress = createEgress({ allowHttp: true, allowCidrs: ['127.0.0.1/32', '::1/128'], dnsServers });
    return createGuardedAgent({ egress, ...(ca ? { ca } : {}) });
  };
  const attempt = (url: string, agent = agentWith()) => soleAttemptAt(url, agent);

  test('an address that connects slowly is not given up for another one, which refuses', async () => {
    await using frozen = disposable(await startFrozenReceiver());
    await using watch = disposable(watchDials());
    const result = attempt(`http://both.example:${frozen.port}/`);
    await waitUntil(() => watch.dialed.some(({ address }) => address === '::1'), { what: 'the second address' });
    frozen.resume();
    expect(await result).toMatchObject({ statusCode: 200, error: '', address: '127.0.0.1' });
  });

  test('an address that is known is dialed although the other query gets no response', async () => {
    const receiver = await startReceiver();
    expect(await attempt(`http://no-aaaa.example:${receiver.port}/`)).toMatchObject({ statusCode: 200, error: '' });
    await receiver.close();
  });

  test('a forbidden address that arrives late rejects the name, and is not dialed', async () => {
    await using frozen = disposable(await startFrozenReceiver());
    await using watch = disposable(watchDials());
    const result = attempt(`http://late-private.example:${frozen.port}/`);
    await waitUntil(() => watch.dialed.length > 0, { what: 'the first address' });
    await Promise.all(dns.map((server) => server.answer()));
    const error = 'blocked: late-private.example resolves to an address that is not public';
    expect(await result).toMatchObject({ statusCode: 0, error });
    expect(watch.additional()).toEqual([`127.0.0.1 port ${frozen.port}`]);
  });

  test('the error names the step that failed and its duration, and the attempt has the times', async () => {
    // The limit is 5 s. On a loaded machine it takes longer; a timer may end some milliseconds early.
    const atLeastMs = 4_900;
    const port = await freePort();
    const frozen = await startFrozenReceiver();
    const [refused, silent, unestablished] = await Promise.all([
      attempt(`http://both.example:${port}/`),
      attempt(`http://silent.example:${port}/`),
      attempt(`http://hooks.example:${frozen.port}/`),
    ]);
    await frozen.stop();
    expect(refused.error).toMatch(/^connect: ECONNREFUSED after \d+ ms$/);
    expect(silent.error).toMatch(/^dns: timed out after \d+\.\d s$/);
    expect(silent.timings).toMatchObject({ connect: 0, tls: 0 });
    expect(silent.timings.dns).toBeGreaterThanOrEqual(atLeastMs);
    expect(unestablished.error).toMatch(/^connect: timed out after \d+\.\d s$/);
    expect(unestablished.timings.tls).toBe(0);
    expect(unestablished.timings.connect).toBeGreaterThanOrEqual(atLeastMs);
  });

  test('without TLS, the time until the request is sent is not that of a handshake', () => {
    const tlsTimeOf = (isTls: boolean) => {
      const clock = new ConnectClock(isTls);
      clock.resolved();
      clock.connected();
      const endMs = performance.now() + 1;
      while (performance.now() < endMs);
      return clock.times().tls;
    };
    expect(tlsTimeOf(true)).toBeGreaterThanOrEqual(1);
    expect(tlsTimeOf(false)).toBe(0);
  });

  describe('with TLS', () => {
    const folder = suiteFolder('dialing');
    const names: (string | false | null)[] = [];
    const hosts: string[] = [];
    let server: TlsServer;
    let port: number;
    let ca: string;
    let otherCa: string;
    beforeAll(async () => {
      const authority = makeCertificates(folder);
      ca = readFileSync(authority.caFile, 'utf8');
      otherCa = readFileSync(makeCertificates(join(folder, 'other')).caFile, 'utf8');
      const { certFile, keyFile } = authority.issue('hooks.example', {
        sans: ['hooks.example', 'xn--hks-snaa.example'],
      });
      server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, serve);
      await once(server.listen(0, '127.0.0.1'), 'listening');
      port = (server.address() as AddressInfo).port;
    });
    afterAll(() => {
      server?.close();
    });
    const serve = (socket: TLSSocket) => {
      names.push(socket.servername);
      socket.on('error', () => {});
      socket.once('data', (head) => {
        hosts.push(/^host: (.*)\r$/im.exec(String(head))?.[1] ?? '');
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    };

    test.each([
      ['https://hooks.example.:PORT/', 'hooks.example'],
      ['https://HOOKS.Example:PORT/', 'hooks.example'],
      ['https://hööks.example.:PORT/', 'xn--hks-snaa.example'],
    ])('%s has one canonical host in DNS, SNI and the Host header', async (url, host) => {
      names.length = 0;
      hosts.length = 0;
      const result = await attempt(
        url.replace('PORT', `${port}`),
        agentWith(() => ca),
      );
      expect(result).toMatchObject({ statusCode: 200, error: '' });
      expect({ names, hosts }).toEqual({ names: [host], hosts: [`${host}:${port}`] });
      const [server] = dns as [DnsServer];
      expect(server.questions).toContain(`A ${host}`);
    });

    test('replaced certificate authorities apply to the next connection', async () => {
      let current: Authorities = otherCa;
      await using agent = disposable(
        agentWith(() => current),
        'destroy',
      );
      const call = () => attemptAt(`https://hooks.example:${port}/`, agent);
      expect((await call()).error).toMatch(/^tls: UNABLE_TO_VERIFY_LEAF_SIGNATURE after /);
      current = ca;
      expect(await call()).toMatchObject({ statusCode: 200, error: '' });
      current = otherCa;
      expect((await call()).error).toMatch(/^tls: UNABLE_TO_VERIFY_LEAF_SIGNATURE after /);
    });
  });
});

describe('the addresses of a name', () => {
  /** Returns the calls to the listener. */
  const find = async (answers: readonly Promise<readonly string[]>[]) => {
    const calls: unknown[] = [];
    await new Promise<void>((done) => {
      const { guard } = createEgress({ allowHttp: false, allowCidrs: [] });
      findAddresses(
        'hooks.example',
        { resolve: () => answers, select: selectPermitted(guard) },
        {
          begin: () => calls.push('begin'),
          add: (addresses) => calls.push(...addresses),
          complete(reason) {
            calls.push(reason?.message ?? 'complete');
            done();
          },
          reject(error) {
            calls.push(error.message);
            done();
          },
        },
      );
    });
    return calls;
  };

  test('include NAT64 addresses of public IPv4 addresses, which DNS64 returns', async () => {
    const answers = [Promise.resolve(['93.184.215.14']), Promise.resolve(['64:ff9b::5db8:d70e'])];
    expect(await find(answers)).toEqual(['93.184.215.14', '64:ff9b::5db8:d70e', 'begin', 'complete']);
  });

  test('are rejected if one of them is the NAT64 address of a private IPv4 address', async () => {
    const answers = [Promise.resolve(['93.184.215.14']), Promise.resolve(['64:ff9b::a00:1'])];
    expect(await find(answers)).toEqual(['93.184.215.14', 'hooks.example resolves to an address that is not public']);
  });

  test('of one kind suffice if the other query fails; both failures are reported', async () => {
    const failed = () => Promise.reject(Object.assign(new Error('no response (ESERVFAIL)'), { code: 'DNS_FAILED' }));
    expect(await find([Promise.resolve(['93.184.215.14']), failed()])).toEqual(['93.184.215.14', 'begin', 'complete']);
    expect(await find([Promise.resolve([]), failed()])).toEqual(['no response (ESERVFAIL)']);
    expect(await find([Promise.resolve([]), Promise.resolve([])])).toEqual(['no address for hooks.example']);
  });
});
