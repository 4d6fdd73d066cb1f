import { readFileSync } from 'node:fs';
import { startDistributed } from './distributed.mjs';
import { newEvent, openPublisher } from './events.mjs';
import { latencies } from './pace.mjs';
import { median, quantile } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const rate = { perSecond: 50, seconds: 12 };
const rounds = 5;
const creating = 20;

/**
 * Measures a healthy webhook's latency, from publishing an event to its arrival, and the service's memory,
 * while an event of another workspace matches many webhooks. Rounds without such an event alternate.
 */
export async function run({ quick }) {
  const webhooks = quick ? 1_000 : 10_000;
  const shape = await startDistributed({ MAX_WEBHOOKS_PER_WORKSPACE: '0' }, { fsync: 'off' });
  const [receiver, crowd] = [await startBenchReceiver(), await startBenchReceiver()];
  const publisher = await openPublisher(shape.env);
  try {
    const workspaceWithWebhooks = async (name, url, count) => {
      const { id } = await shape.rms('workspaces', 'create', '--name', name);
      const options = ['--environment', 'live', '--scope', 'admin', '--name', name];
      const { key } = await shape.rms('keys', 'create', '--workspace', id, ...options);
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      for (let i = 0; i < count; i += creating) {
        const some = Array.from({ length: Math.min(creating, count - i) });
        await Promise.all(some.map(() => createWebhook(shape.liveUrl, headers, url)));
      }
      return id;
    };
    const healthyId = await workspaceWithWebhooks('healthy', receiver.url, 1);
    const crowdId = await workspaceWithWebhooks('crowd', crowd.url, webhooks);
    const healthy = () => latencies(publisher, receiver, healthyId, rate);
    const large = async () => {
      const before = crowd.received();
      const event = publisher.publish(0, [newEvent(crowdId)]);
      const waited = await healthy();
      await event;
      await crowd.untilReceived(before + webhooks);
      return waited;
    };
    await healthy();
    const memoryBefore = mostMemoryMiB(shape.pids.webhooks);
    await large();
    await shape.analyze();
    const rows = { calm: [], large: [] };
    for (let round = 0; round < (quick ? 1 : rounds); round++) {
      for (const [name, once] of Object.entries({ calm: healthy, large })) {
        rows[name].push(await once());
      }
    }
    const p99 = (name) => median(rows[name].map((round) => quantile(round, 0.99)));
    const figures = (name) => ({
      p50: median(rows[name].map((round) => quantile(round, 0.5))),
      p99: p99(name),
      'p99 of each round': rows[name].map((round) => Math.round(quantile(round, 0.99))).join(' '),
    });
    const ratio = p99('large') / p99('calm');
    return {
      about: `${rate.perSecond} events per second to a healthy endpoint, milliseconds from the bus to its arrival`,
      rows: [
        { alongside: 'nothing', ...figures('calm'), 'most memory, MiB': memoryBefore },
        {
          alongside: `an event for ${webhooks} webhooks of another workspace`,
          ...figures('large'),
          'most memory, MiB': mostMemoryMiB(shape.pids.webhooks),
          ratio,
        },
      ],
      goals: [{ goal: 'p99 alongside a large event ≤ 1.2×', measured: ratio, met: ratio <= 1.2 }],
    };
  } finally {
    await publisher.close();
    receiver.stop();
    crowd.stop();
    await shape.stop();
  }
}

/** Returns the peak resident memory of a process so far. */
function mostMemoryMiB(pid) {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1_024);
}
