import { type HostileTarget, hostileTargets, hostileZone } from '@rms/net/egress/hostile-targets';
import { createEgress, createGuardedAgent } from '@rms/net/guarded-http';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import {
  type DnsServer,
  disposable,
  freePort,
  perSuite,
  startDnsServer,
  startReceiver,
  startTrap,
  type Trap,
  watchDials,
} from '@rms/testkit';
import { soleAttemptAt } from '../attempt-at.ts';
import { newEvent, newTenant, startWebhooks } from '../support.ts';

const zone = {
  ...hostileZone,
  'allowed.example': { a: ['127.0.0.1'] },
  'flips.example': { a: [['127.0.0.1'], ['127.0.0.2']] },
};

describe('hostile targets', () => {
  let dns: DnsServer;
  let trap: Trap;
  beforeAll(async () => {
    [dns, trap] = [await startDnsServer(zone), await startTrap()];
  });
  afterAll(async () => {
    await trap?.close();
    await dns?.close();
  });

  describe('of webhooks', () => {
    let targets: HostileTarget[];
    const tenant = newTenant();
    /** Result of creating each webhook: the error and the rejected field, or "taken". */
    const created = new Map<string, string>();
    const ids = new Map<string, string>();
    const rms = perSuite(() =>
      startWebhooks({ egress: { allowHttp: false, allowCidrs: [], dnsServers: [dns.address] } }),
    );
    beforeAll(async () => {
      targets = hostileTargets(trap.port);
      for (const { url } of targets) {
        const { id, result } = await make(url);
        created.set(url, result);
        ids.set(id, url);
      }
    });

    /** Creates a webhook with this URL. If the check rejects the URL, it is written to the database directly. */
    const make = async (url: string) => {
      const request = { ...tenant, events: ['*'] };
      try {
        const { webhook } = await rms.webhooks.createWebhook({ ...request, url });
        return { id: webhook?.id ?? '', result: 'taken' };
      } catch (error) {
        const { code, details = [] } = error as { code: string; details?: { field: string; message: string }[] };
        const { webhook } = await rms.webhooks.createWebhook({ ...request, url: 'https://not-yet.example/' });
        const id = webhook?.id ?? '';
        await rms.database.pool.query('update webhooks.webhooks set url = $2 where id = $1', [id, url]);
        return { id, result: [code, ...details.map(({ field, message }) => `${field} ${message}`)].join(': ') };
      }
    };

    test('are numerous and distinct', () => {
      expect(new Set(targets.map(({ url }) => url)).size).toBe(targets.length);
      expect(targets.length).toBeGreaterThanOrEqual(200);
    });

    test('are rejected at creation with a clear error for the field, unless only a call can detect them', () => {
      const wrong = targets.filter(({ url, shownBy }) => {
        const refused = /^invalid_request: url must (?:(?!: ).)+$/.test(created.get(url) ?? '');
        return shownBy === 'later' ? created.get(url) !== 'taken' : !refused;
      });
      expect(wrong.map(({ url, why }) => [why, url, created.get(url)])).toEqual([]);
    });

    test('are never reached by the engine: it does not even start to connect, and the log has the reason', async () => {
      await rms.database.pool.query('update webhooks.webhooks set max_retries = 0');
      const watch = watchDials();
      await rms.publish(newEvent(tenant));
      const log = await rms.settled(tenant, targets.length);
      watch.stop();
      const dialed = watch.additional(Number(new URL(rms.database.url).port));
      const unclear = log
        .filter(({ status, attempts }) => {
          const [attempt] = attempts;
          const blocked = attempt?.error.startsWith('blocked: ') && attempt.address === '' && attempt.statusCode === 0;
          return status !== DeliveryStatus.FAILED || attempts.length !== 1 || !blocked;
        })
        .map(({ webhookId, attempts }) => [ids.get(webhookId), attempts.map(({ error }) => error)]);
      expect({ unclear, dialed, reachedAt: trap.reachedAt }).toEqual({ unclear: [], dialed: [], reachedAt: [] });
      expect(log).toHaveLength(targets.length);
    });
  });

  describe('next to an allowed network', () => {
    const agent = () =>
      createGuardedAgent({
        egress: createEgress({ allowHttp: true, allowCidrs: ['127.0.0.1/32'], dnsServers: [dns.address] }),
      });
    const call = async (url: string) => {
      await using watch = disposable(watchDials());
      const { error, address } = await soleAttemptAt(url, agent());
      return { error, address, dialed: watch.additional() };
    };

    test('an allowed address is reached and recorded by the watch', async () => {
      const own = await startTrap();
      const { dialed, error } = await call(`https://allowed.example:${own.port}/`);
      expect({ dialed, error }).toEqual({
        dialed: [`127.0.0.1 port ${own.port}`],
        error: expect.stringMatching(/^(?:tls|connection): ECONNRESET /),
      });
      await own.close();
      expect(own.reachedAt).toEqual([expect.stringMatching(/127\.0\.0\.1$/)]);
    });

    test('a name is resolved once per connection, and only the checked address is dialed', async () => {
      const receiver = await startReceiver();
      const url = `http://flips.example:${receiver.port}/`;
      const lookupCount = () => dns.questions.filter((question) => question === 'A flips.example').length;
      expect(await call(url)).toEqual({
        error: '',
        address: '127.0.0.1',
        dialed: [`127.0.0.1 port ${receiver.port}`],
      });
      expect(lookupCount()).toBe(1);
      expect(await call(url)).toMatchObject({ error: expect.stringMatching(/^blocked: /), dialed: [] });
      expect(lookupCount()).toBe(2);
      await receiver.close();
    });

    test.each([301, 302, 303, 307, 308])('a %i to a hostile target is not followed', async (status) => {
      const receiver = await startReceiver();
      const location = `http://127.0.0.2:${trap.port}/`;
      receiver.respondWith((_, response) => void response.writeHead(status, { location }).end());
      expect(await call(receiver.url)).toEqual({
        error: `status: ${status}`,
        address: '127.0.0.1',
        dialed: [`127.0.0.1 port ${receiver.port}`],
      });
      expect(trap.reachedAt).toEqual([]);
      await receiver.close();
    });

    test.each([25, 6379, 10250])('port %i is not allowed, even at an allowed address', async (port) => {
      expect(await call(`http://127.0.0.1:${port}/`)).toEqual({
        error: `blocked: port ${port} is not allowed for webhooks`,
        address: undefined,
        dialed: [],
      });
    });

    test('an unreachable DNS server and an unknown name have different errors', async () => {
      const egress = createEgress({ allowHttp: true, allowCidrs: [], dnsServers: [`127.0.0.1:${await freePort()}`] });
      const { error } = await soleAttemptAt('https://hooks.example/', createGuardedAgent({ egress }));
      expect(error).toMatch(/^dns: no response \(E\w+\) after \d+ ms$/);
      expect((await call('https://nowhere.example/')).error).toMatch(/^dns: the name does not resolve /);
    });

    test('addresses outside the allowed network are not reached', async () => {
      for (const host of ['127.0.0.2', '[::1]', 'localhost.localdomain', 'loopback6.hostile.example']) {
        expect(await call(`https://${host}:${trap.port}/`)).toMatchObject({
          error: expect.stringMatching(/^(?:blocked|dns): /),
          dialed: [],
        });
      }
      expect(trap.reachedAt).toEqual([]);
    });
  });
});
