import { setTimeout as delay } from 'node:timers/promises';
import { describeWith, type Network, seededRandom, startNetwork, suiteFolder, waitUntil } from '@rms/testkit';
import pg from 'pg';
import { Agent } from 'undici';
import { openSettings } from '../api/suites/all.ts';
import type { NewKey } from '../api/support/api-types.ts';
import { connectAll, type Rpc } from './rpc/rpc.ts';
import { type CalmTenant, startCalmTenant } from './tenants/calm-tenant.ts';
import { clockOfInstance, type InstanceClock } from './tenants/clock-of-instance.ts';
import { type HostileEndpoints, startHostileEndpoints } from './tenants/hostile-endpoints.ts';
import { createHostileTenant } from './tenants/hostile-tenant.ts';

const minutes = Number(process.env.HOSTILE_MINUTES ?? (process.env.CI === 'true' ? 10 : 2));
const seed = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 32));
const perSecond = 20;
const warmUpMs = 10_000;
const windowMs = 20_000;
const minRounds = 3;
const hourMs = 3_600_000;
/** Maximum time after `minutes` until each of the hostile actions has succeeded once. */
const extraMs = 300_000;
/** Clock errors of the delivering instance in hostile windows, in milliseconds. */
const wrongBy = [-480 * hourMs, -hourMs, hourMs, 480 * hourMs];
/** Wait after a clock change: a consumer needs, after its clock is set back, a moment to rejoin its group. */
const leadInMs = 4_000;

/**
 * Quantiles of the times until the response and until the event arrives. The hostile windows' median may be at
 * most twice that of the calm windows plus `noiseMs`, the jitter of processes that share two processors.
 */
const shares = [0.5, 0.99];
const measures = ['response', 'event'] as const;
const noiseMs = 100;

/** @param share 0 to 1 */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

/**
 * One tenant creates resources at a constant rate, and in every other window another tenant does everything that its
 * limits permit. The calm windows of the same run are the reference. The run compares medians of windows, so neither a
 * slow machine nor a single stall of its disk fails it. The seed determines the actions, but not their interleaving.
 */
describeWith(['redis', 'kafka'], 'A calm tenant next to a hostile one', () => {
  const folder = suiteFolder('clock');
  let clock: InstanceClock;
  let network: Network;
  let rpc: Rpc;
  let db: pg.Pool;
  let calm: CalmTenant;
  let endpoints: HostileEndpoints;
  const dispatcher = new Agent({ connections: 8 });

  beforeAll(async () => {
    clock = clockOfInstance(folder);
    network = await startNetwork({ env: openSettings, serviceEnv: { webhooks: clock.env } });
    rpc = connectAll(network);
    db = new pg.Pool({ connectionString: network.env.DATABASE_URL, max: 1 });
    endpoints = await startHostileEndpoints();
  });
  afterAll(async () => {
    await calm?.close();
    await dispatcher.close();
    await db?.end();
    rpc?.close();
    await network?.stop();
    await endpoints?.stop();
  });

  const newWorkspace = async (name: string) =>
    (await network.rms<{ id: string }>('workspaces', 'create', '--name', name)).id;
  const newKey = async (workspaceId: string, ...options: string[]) => {
    const command = ['keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'tenant'];
    return (await network.rms<NewKey>(...command, '--workspace', workspaceId, ...options)).key;
  };

  test(
    'the calm tenant gets no error, loses no event and is not delayed',
    async () => {
      const workspaceId = await newWorkspace('hostile');
      const [key, limitedKey] = [await newKey(workspaceId), await newKey(workspaceId, '--rate-limit', '100')];
      const { liveUrl } = network;
      const random = seededRandom(seed);
      const hostile = createHostileTenant({
        ...{ random, rpc, liveUrl, dispatcher, workspaceId, key, limitedKey },
        urls: endpoints.urls,
      });
      const { done, statuses } = hostile;
      const withoutSuccess = () => Object.keys(done).filter((name) => done[name]?.succeeded === 0);
      calm = startCalmTenant({ liveUrl, key: await newKey(await newWorkspace('calm')), perSecond });
      const windows: { kind: 'calm' | 'hostile'; fromMs: number; untilMs: number }[] = [];
      const observe = async (kind: 'calm' | 'hostile') => {
        const fromMs = Date.now();
        await delay(windowMs);
        windows.push({ kind, fromMs, untilMs: Date.now() });
      };
      const setClock = async (byMs: number) => {
        clock.set(byMs);
        await delay(leadInMs);
        await calm.waitForArrivals();
      };
      const hasQueue = async () =>
        (await db.query('select from webhooks.deliveries where workspace_id = $1 limit 1', [workspaceId])).rowCount;
      process.stderr.write(`HOSTILE_SEED=${seed}, ${minutes} minutes\n`);
      try {
        await delay(warmUpMs);
        const endAtMs = performance.now() + minutes * 60_000;
        const lasts = () => {
          const overdueMs = performance.now() - endAtMs;
          return overdueMs < 0 || (withoutSuccess().length > 0 && overdueMs < extraMs);
        };
        for (let round = 0; round < minRounds || lasts(); round += 1) {
          await observe('calm');
          hostile.start();
          await setClock(wrongBy[Math.floor(random() * wrongBy.length)] ?? 0);
          await observe('hostile');
          await hostile.stop();
          await setClock(0);
          // Deleted webhooks have no deliveries, so the next window is calm.
          await waitUntil(async () => (await hasQueue()) === 0, { what: 'the end of the hostile deliveries' });
        }
      } finally {
        await hostile.stop();
        await calm.stop();
      }
      await waitUntil(() => calm.missing().length === 0, { what: 'all events of the calm tenant' }).catch(() => {});

      const perWindow = (wanted: string, measure: (typeof measures)[number], share: number) =>
        windows
          .filter(({ kind }) => kind === wanted)
          .map(({ fromMs, untilMs }) => Math.round(quantile(calm.latencies(fromMs, untilMs)[measure], share)));
      const compared = measures.flatMap((measure) =>
        shares.map((share) => {
          const [calmMs, hostileMs] = [perWindow('calm', measure, share), perWindow('hostile', measure, share)];
          const isDelayed = quantile(hostileMs, 0.5) > 2 * quantile(calmMs, 0.5) + noiseMs;
          return { measure, share, calmMs, hostileMs, isDelayed };
        }),
      );
      for (const { measure, share, calmMs, hostileMs } of compared) {
        process.stderr.write(`p${share * 100} ${measure}, ms per window: ${JSON.stringify({ calmMs, hostileMs })}\n`);
      }
      expect({ seed, rejected: calm.rejected(), missing: calm.missing() }).toEqual({ seed, rejected: [], missing: [] });
      if (compared.some(({ isDelayed }) => isDelayed)) {
        throw new Error(`the calm tenant was delayed: ${JSON.stringify({ seed, compared, statuses, done })}`);
      }
      expect({ seed, without: withoutSuccess() }).toEqual({ seed, without: [] });
    },
    minutes * 60_000 + extraMs + 300_000,
  );
});
