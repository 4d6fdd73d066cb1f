import { startDistributed } from './distributed.mjs';
import { load } from './load.mjs';
import { measure, median, sum } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const publishers = 32;

/** Creates resources from 32 publishers and waits until one endpoint has got every event; PostgreSQL, Kafka and Redis count. */
export async function run({ quick }) {
  const events = quick ? 1_000 : 5_000;
  const rounds = quick ? 1 : 3;
  const warmUp = quick ? 2_000 : 10_000;
  const shape = await startDistributed();
  const receiver = await startBenchReceiver();
  try {
    const { key } = await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    await createWebhook(shape.liveUrl, headers, receiver.url);
    const rows = [];
    for (let round = 0; round <= rounds; round++) {
      const count = round === 0 ? warmUp : events;
      const before = receiver.arrivals.size;
      const { seconds, cpu, result } = await measure(shape.pids, async () => {
        const startedAtMs = performance.now();
        await load({
          url: shape.liveUrl,
          connections: publishers,
          count,
          expect: 201,
          request: (i) => ({ method: 'POST', path: '/v1/resources', headers, body: bodyOf(round, i) }),
        });
        const publishedMs = performance.now() - startedAtMs;
        await receiver.until(before + count);
        return { publishPerSecond: count / (publishedMs / 1_000) };
      });
      if (round === 0) {
        await shape.analyze();
        continue;
      }
      const parts = Object.fromEntries(Object.entries(cpu).map(([name, value]) => [name, (value / count) * 1_000]));
      rows.push({
        round,
        'published/s': Math.round(result.publishPerSecond),
        'delivered/s': Math.round(count / seconds),
        'CPU-s/1000': sum(parts),
        ...parts,
      });
    }
    const cpu = median(rows.map((row) => row['CPU-s/1000']));
    return {
      about: `${events} events, ${publishers} publishers, one endpoint; CPU-seconds per 1,000 created and delivered`,
      rows,
      goals: [
        { goal: 'CPU-s per 1,000 delivered, all processes and stores ≤ 0.5', measured: cpu, met: cpu <= 0.5 },
        { goal: 'delivered/s (a Go peer: 1,280)', measured: median(rows.map((row) => row['delivered/s'])), met: true },
        { goal: 'repeated deliveries', measured: receiver.repeated(), met: true },
      ],
    };
  } finally {
    receiver.stop();
    await shape.stop();
  }
}

/** A body whose event is about 380 bytes long. */
function bodyOf(round, i) {
  return JSON.stringify({ name: `Resource ${round}-${i}`, metadata: { note: 'n'.repeat(90) } });
}
