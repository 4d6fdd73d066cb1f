import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { makeSecret, toSigningSecret } from '@rms/signature';
import { freePort, startReceiver } from '@rms/testkit';
import { send } from '../src/delivery/send.ts';
import { createEgress } from '../src/egress/egress.ts';
import { createGuardedAgent } from '../src/egress/guarded-agent.ts';
import { type DnsServer, startDnsServer } from './dns-server.ts';
import { type HostileTarget, hostileTargets, hostileZone } from './hostile-targets.ts';
import { newEvent, newTenant, startWebhooks, type Webhooks } from './support.ts';
import { startTrap, type Trap, watchDials } from './traps.ts';

const zone = {
  ...hostileZone,
  'allowed.example': { a: ['127.0.0.1'] },
  'flips.example': { a: [['127.0.0.1'], ['127.0.0.2']] },
};
const secrets = { current: toSigningSecret(makeSecret()), previous: undefined };

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
    let rms: Webhooks;
    let targets: HostileTarget[];
    const tenant = newTenant();
    /** What the making of each webhook came to: the field that was refused, or "taken". */
    const made = new Map<string, string>();
    const ids = new Map<string, string>();
    beforeAll(async () => {
      rms = await startWebhooks({ egress: { allowHttp: false, allowCidrs: [], dnsServers: [dns.address] } });
      targets = hostileTargets(trap.port);
      for (const { url } of targets) {
        const { id, result } = await make(url);
        made.set(url, result);
        ids.set(id, url);
      }
    });
    afterAll(() => rms?.stop());

    /** One with this URL, written past the check if that refuses it. */
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

    test('are many, and each is one of its own', () => {
      expect(new Set(targets.map(({ url }) => url)).size).toBe(targets.length);
      expect(targets.length).toBeGreaterThanOrEqual(200);
    });

    test('are refused with a clear error of the field when a webhook is made, unless only a call can show them', () => {
      const wrong = targets.filter(({ url, shownBy }) => {
        const refused = /^invalid_request: url must [^:]+$/.test(made.get(url) ?? '');
        return shownBy === 'later' ? made.get(url) !== 'taken' : !refused;
      });
      expect(wrong.map(({ url, why }) => [why, url, made.get(url)])).toEqual([]);
    });

    test('are never reached by the engine: no connection is even begun, and the log says why', async () => {
      await rms.database.pool.query('update webhooks.webhooks set max_retries = 0');
      const watch = watchDials();
      await rms.publish(newEvent(tenant));
      const log = await rms.settled(tenant, targets.length);
      watch.stop();
      const dialled = watch.besides(Number(new URL(rms.database.url).port));
      const unclear = log
        .filter(({ status, attempts }) => {
          const [attempt] = attempts;
          const blocked = attempt?.error.startsWith('blocked: ') && attempt.address === '' && attempt.statusCode === 0;
          return status !== DeliveryStatus.FAILED || attempts.length !== 1 || !blocked;
        })
        .map(({ webhookId, attempts }) => [ids.get(webhookId), attempts.map(({ error }) => error)]);
      expect({ unclear, dialled, reachedAt: trap.reachedAt }).toEqual({ unclear: [], dialled: [], reachedAt: [] });
      expect(log).toHaveLength(targets.length);
    });
  });

  describe('beside one network that is allowed', () => {
    const agent = () =>
      createGuardedAgent({
        egress: createEgress({ allowHttp: true, allowCidrs: ['127.0.0.1/32'], dnsServers: [dns.address] }),
      });
    const call = async (url: string) => {
      const one = agent();
      const watch = watchDials();
      try {
        const outgoing = { url, eventId: 'evt_1', requestId: 'req_1', traceparent: '', body: Buffer.from('{}') };
        const { error, address } = await send(one, secrets, outgoing);
        return { error, address, dialled: watch.besides() };
      } finally {
        watch.stop();
        await one.destroy();
      }
    };

    test('what is allowed is reached, and the watch sees it', async () => {
      const own = await startTrap();
      const { dialled, error } = await call(`https://allowed.example:${own.port}/`);
      expect({ dialled, error }).toEqual({
        dialled: [`127.0.0.1 port ${own.port}`],
        error: expect.stringMatching(/^connection: /),
      });
      await own.close();
      expect(own.reachedAt).toEqual([expect.stringMatching(/127\.0\.0\.1$/)]);
    });

    test('a name is asked for once for a connection, and what was checked is what is dialled', async () => {
      const receiver = await startReceiver();
      const url = `http://flips.example:${receiver.port}/`;
      const asked = () => dns.questions.filter((question) => question === 'A flips.example').length;
      expect(await call(url)).toEqual({
        error: '',
        address: '127.0.0.1',
        dialled: [`127.0.0.1 port ${receiver.port}`],
      });
      expect(asked()).toBe(1);
      expect(await call(url)).toMatchObject({ error: expect.stringMatching(/^blocked: /), dialled: [] });
      expect(asked()).toBe(2);
      await receiver.close();
    });

    test.each([301, 302, 303, 307, 308])('a %i to a hostile target is not followed', async (status) => {
      const receiver = await startReceiver();
      const location = `http://127.0.0.2:${trap.port}/`;
      receiver.respondWith((_, response) => void response.writeHead(status, { location }).end());
      expect(await call(receiver.url)).toEqual({
        error: `status: ${status}`,
        address: '127.0.0.1',
        dialled: [`127.0.0.1 port ${receiver.port}`],
      });
      expect(trap.reachedAt).toEqual([]);
      await receiver.close();
    });

    test.each([25, 6379, 10250])('port %i is not allowed there either', async (port) => {
      expect(await call(`http://127.0.0.1:${port}/`)).toEqual({
        error: `blocked: port ${port} is not one that webhooks may call`,
        address: undefined,
        dialled: [],
      });
    });

    test('a DNS server that does not answer is another failure than a name that is not there', async () => {
      const egress = createEgress({ allowHttp: true, allowCidrs: [], dnsServers: [`127.0.0.1:${await freePort()}`] });
      const outgoing = { eventId: 'evt_1', requestId: 'req_1', traceparent: '', body: Buffer.from('{}') };
      const one = createGuardedAgent({ egress });
      const { error } = await send(one, secrets, { ...outgoing, url: 'https://hooks.example/' });
      await one.destroy();
      expect(error).toMatch(/^dns: no answer \(E\w+\)$/);
      expect((await call('https://nowhere.example/')).error).toBe('dns: the name does not resolve');
    });

    test('addresses next to it are not allowed', async () => {
      for (const host of ['127.0.0.2', '[::1]', 'localhost.localdomain', 'loopback6.hostile.example']) {
        expect(await call(`https://${host}:${trap.port}/`)).toMatchObject({
          error: expect.stringMatching(/^(?:blocked|dns): /),
          dialled: [],
        });
      }
      expect(trap.reachedAt).toEqual([]);
    });
  });
});
