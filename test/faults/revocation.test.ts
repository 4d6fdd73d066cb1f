import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { createClient, type RpcClient } from '@rms/rpc';
import { describeWith, type Network, perSuite, startNetwork, startRedis, waitUntil } from '@rms/testkit';
import type { NewKey } from '../api/support/api-types.ts';
import { type Line, startLine } from './line.ts';
import { type Load, startLoad } from './load.ts';

const connectionsPerGateway = 8;
/** Number of requests that each gateway must have rejected after the change. */
const refusedPerGateway = 100;

/** A change that an operator makes to a key, and the response to every later request. */
interface Change {
  readonly make: (key: NewKey) => Promise<unknown>;
  readonly refusal: string;
  /** Number of calls, by default 1. */
  readonly calls?: number;
}

/** A fault of Redis: steps before the change, during it, and after the requests that followed. */
interface Fault {
  readonly before: () => unknown;
  readonly during: () => unknown;
  readonly after: () => unknown;
}

describeWith(['kafka', 'redis-server'], 'A change of a key at three gateways under load', () => {
  let ofAuth: Line;
  let ofGateways: Line;
  let network: Network;
  let keys: RpcClient<typeof KeysService>;
  let urls: string[];
  let workspaceId: string;

  afterAll(async () => {
    keys?.close();
    await network?.stop();
    await Promise.all([ofAuth?.close(), ofGateways?.close()]);
  });
  const redis = perSuite(startRedis);
  beforeAll(async () => {
    const env = { RATE_LIMIT_REQUESTS: '1000000', MONTHLY_QUOTA: '0' };
    ofAuth = await startLine(redis.url);
    ofGateways = await startLine(redis.url);
    const serviceEnv = { auth: { REDIS_URL: ofAuth.url }, gateway: { REDIS_URL: ofGateways.url } };
    network = await startNetwork({ env, serviceEnv, redisUrl: redis.url, gateways: 3 });
    urls = network.gateways.map(({ liveUrl }) => liveUrl);
    ({ id: workspaceId } = await network.rms<{ id: string }>('workspaces', 'create', '--name', 'Faults'));
    keys = createClient(KeysService, { target: network.env.AUTH_ADDRESS ?? '', timeoutMs: 60_000 });
  });

  const newKey = (...options: string[]) =>
    network.rms<NewKey>(
      ...['keys', 'create', '--workspace', workspaceId, '--environment', 'live', '--scope', 'read', '--name', 'used'],
      ...options,
    );
  const metric = async (url: string, line: RegExp) => {
    const text = await (await fetch(url)).text();
    return Number(line.exec(text)?.[1] ?? 0);
  };
  const changesHeld = () => metric(network.authMetricsUrl, /^rms_key_revocation_seconds_count\{[^}]*\} (\S+)/m);
  const trustingChecks = (url: string) =>
    metric(url, /^rms_limit_checks_total\{(?=[^}]*freshness="current")[^}]*\} (\S+)/m);

  /** Waits until every gateway trusts the revocation markers and serves from its cache: the hard case for a change. */
  const untilCached = async (load: Load) => {
    for (const { metricsUrl, liveUrl } of network.gateways) {
      const before = await trustingChecks(metricsUrl);
      await waitUntil(async () => (await trustingChecks(metricsUrl)) > before + refusedPerGateway, {
        what: `${liveUrl} to trust the revocation markers`,
      });
    }
    expect(new Set(load.sent.slice(-refusedPerGateway).map(({ status }) => status))).toEqual(new Set([200]));
  };

  const changes: Record<string, Change> = {
    revoked: {
      make: ({ id }) => keys.revokeKey({ workspaceId, id }),
      refusal: '401 invalid_api_key',
    },
    'revoked by the rms command': {
      make: ({ id }) => network.rms('keys', 'revoke', id, '--workspace', workspaceId),
      refusal: '401 invalid_api_key',
    },
    'rolled without an overlap': {
      make: ({ id }) => keys.rollKey({ workspaceId, id }),
      refusal: '401 api_key_expired',
    },
    // Resolves with the first response.
    'rolled by a request that the client repeats': {
      make: ({ id }) =>
        Promise.race(
          [1, 2].map(() => keys.rollKey({ workspaceId, environment: Environment.LIVE, id, idempotencyKey: id })),
        ),
      refusal: '401 api_key_expired',
      calls: 2,
    },
    'bound to other addresses': {
      make: ({ id }) => keys.updateKey({ workspaceId, id, allowedIps: { cidrs: ['192.0.2.0/24'] } }),
      refusal: '403 ip_not_allowed',
    },
  };
  const nothing = () => {};
  const faults: Record<string, Fault> = {
    up: { before: nothing, during: nothing, after: nothing },
    'killed just before': { before: () => redis.kill(), during: nothing, after: () => redis.restart() },
    'frozen just before': { before: () => redis.pause(), during: nothing, after: () => redis.resume() },
    'frozen just before and resumed meanwhile': {
      before: () => redis.pause(),
      during: () => redis.resume(),
      after: nothing,
    },
    'cut off from auth just before': { before: () => ofAuth.cut(), during: nothing, after: () => ofAuth.repair() },
    'cut off from gateways just before': {
      before: () => ofGateways.cut(),
      during: nothing,
      after: () => ofGateways.repair(),
    },
    'killed just before and restarted meanwhile': {
      before: () => redis.kill(),
      during: () => redis.restart(),
      after: nothing,
    },
  };

  test.each([
    ['revoked', 'up'],
    ['revoked by the rms command', 'up'],
    ['rolled without an overlap', 'up'],
    ['bound to other addresses', 'up'],
    ['revoked', 'killed just before'],
    ['rolled without an overlap', 'killed just before'],
    ['revoked', 'frozen just before'],
    ['bound to other addresses', 'frozen just before'],
    ['revoked', 'frozen just before and resumed meanwhile'],
    ['revoked', 'killed just before and restarted meanwhile'],
    ['revoked', 'cut off from auth just before'],
    ['rolled without an overlap', 'cut off from auth just before'],
    ['rolled by a request that the client repeats', 'cut off from auth just before'],
    ['revoked', 'cut off from gateways just before'],
  ])(
    'a key that is %s, with Redis %s: no request that starts after the response is accepted',
    async (what, state) => {
      const { make, refusal, calls = 1 } = changes[what] as Change;
      const fault = faults[state] as Fault;
      const key = await newKey('--allow-ip', '127.0.0.0/8');
      const other = await newKey();
      const load = startLoad({ gateways: urls, key: key.key, connectionsPerGateway });
      const control = startLoad({ gateways: urls, key: other.key, connectionsPerGateway: 1 });
      try {
        await untilCached(load);
        const heldBefore = await changesHeld();

        await fault.before();
        const startedAtMs = performance.now();
        const making = make(key);
        await waitUntil(() => load.since(startedAtMs).length > connectionsPerGateway, {
          what: 'requests during the change',
        });
        await fault.during();
        await making;
        const respondedAtMs = performance.now();

        const refusedAt = (gateway: string) =>
          load.since(respondedAtMs).filter((sent) => sent.gateway === gateway).length;
        await waitUntil(() => urls.every((url) => refusedAt(url) >= refusedPerGateway), {
          what: 'requests after the change',
        });
        await fault.after();
        const wholeAtMs = performance.now();
        await waitUntil(() => load.since(wholeAtMs).length >= refusedPerGateway, { what: 'requests after the fault' });
        await Promise.all([load.stop(), control.stop()]);

        expect(outcomesOf(load.since(respondedAtMs))).toEqual([refusal]);
        expect(outcomesOf(control.sent)).toEqual(['200']);
        // Requests in flight during the change may be accepted or rejected, but must not fail otherwise.
        expect(['200', refusal]).toEqual(expect.arrayContaining(outcomesOf(load.since(startedAtMs))));
        await waitUntil(async () => (await changesHeld()) >= heldBefore + calls, { what: 'every call to respond' });
        expect(await changesHeld()).toBe(heldBefore + calls);
      } finally {
        await Promise.all([load.stop(), control.stop()]);
      }
    },
    120_000,
  );
});

/** Returns the distinct outcomes: "200", "401 invalid_api_key". */
function outcomesOf(sent: Load['sent']): string[] {
  return [...new Set(sent.map(({ status, code }) => `${status} ${code}`.trim()))];
}
