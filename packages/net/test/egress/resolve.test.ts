import { Resolver } from 'node:dns/promises';
import { type DnsServer, startDnsServer } from '@rms/testkit';
import { createResolve } from '../../src/egress/resolve.ts';

describe('the name servers of the system', () => {
  let before: DnsServer;
  let after: DnsServer;
  beforeAll(async () => {
    before = await startDnsServer({ 'hooks.example': { a: ['192.0.2.1'] } });
    after = await startDnsServer({ 'hooks.example': { a: ['192.0.2.2'] } });
  });
  afterAll(() => Promise.all([before?.close(), after?.close()]));

  test('are followed when they change', async () => {
    let [configured, nowMs] = [before.address, 0];
    const system = () => {
      const resolver = new Resolver({ timeout: 2_000, tries: 2 });
      resolver.setServers([configured]);
      return resolver;
    };
    const resolve = createResolve([], { system, nowMs: () => nowMs });
    const ask = async () => (await Promise.all(resolve('hooks.example'))).flat();
    expect(await ask()).toEqual(['192.0.2.1']);
    configured = after.address;
    expect(await ask()).toEqual(['192.0.2.1']);
    nowMs = 5_000;
    expect(await ask()).toEqual(['192.0.2.2']);
    configured = before.address;
    nowMs = 10_000;
    expect(await ask()).toEqual(['192.0.2.1']);
  });

  test('are not used if the operator names other servers', async () => {
    let nowMs = 0;
    const resolve = createResolve([after.address], { system: () => new Resolver(), nowMs: () => nowMs });
    nowMs = 60_000;
    expect((await Promise.all(resolve('hooks.example'))).flat()).toEqual(['192.0.2.2']);
  });
});
