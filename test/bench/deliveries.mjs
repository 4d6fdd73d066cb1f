import { startBaseline } from './baseline/start.mjs';
import { startDistributed } from './distributed.mjs';
import { load } from './load.mjs';
import { measure, median, sum } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const publishers = 32;
/**
 * Published CPU-seconds of the peers per delivered event, as multiples of an Express 5 + pg insert on the same
 * machine.
 */
const peers = { Outpost: 3.5, Svix: 5.6, Convoy: 22 };

/**
 * Creates resources from 32 publishers and waits until one endpoint has received every event. CPU includes PostgreSQL,
 * Kafka and Redis. Rounds alternate with one Express process that inserts the same bodies, which makes the result
 * comparable with peers measured on other machines.
 */
export async function run({ quick }) {
  const events = quick ? 1_000 : 5_000;
  const rounds = quick ? 1 : 4;
  const warmUp = quick ? 2_000 : 10_000;
  const shape = await startDistributed();
  const receiver = await startBenchReceiver();
  const baselineUrl = await shape.createDatabase();
  const baseline = await startBaseline(baselineUrl);
  try {
    const { key } = await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    await createWebhook(shape.liveUrl, headers, receiver.url);
    const post = async (url, round, count) => {
      const request = (i) => ({ method: 'POST', path: '/v1/resources', headers, body: bodyOf(round, i) });
      const startedAtMs = performance.now();
      await load({ url, connections: publishers, count, expect: 201, request });
      return { publishPerSecond: (count * 1_000) / (performance.now() - startedAtMs) };
    };
    const contenders = {
      rms: {
        pids: shape.pids,
        async work(round, count) {
          const before = receiver.arrivals.size;
          const result = await post(shape.liveUrl, round, count);
          await receiver.until(before + count);
          return result;
        },
      },
      baseline: {
        pids: { baseline: baseline.pid, postgres: shape.pids.postgres },
        work: (round, count) => post(baseline.url, round, count),
      },
    };
    const rows = [];
    for (let round = 0; round <= rounds; round++) {
      const count = round === 0 ? warmUp : events;
      for (const [what, { pids, work }] of Object.entries(contenders)) {
        const { seconds, cpu, result } = await measure(pids, () => work(round, count));
        if (round === 0) continue;
        const parts = Object.fromEntries(Object.entries(cpu).map(([name, value]) => [name, (value / count) * 1_000]));
        rows.push({
          what,
          'published/s': Math.round(result.publishPerSecond),
          'delivered/s': what === 'rms' ? Math.round(count / seconds) : undefined,
          'CPU-s/1000': sum(parts),
          ...parts,
        });
      }
      if (round > 0) continue;
      await shape.analyze();
      await shape.analyze(baselineUrl);
    }
    const of = (name, field) => rows.filter(({ what }) => what === name).map((row) => row[field]);
    const own = of('rms', 'CPU-s/1000');
    const cpu = median(own);
    const ratio = median(of('baseline', 'CPU-s/1000').map((bare, i) => own[i] / bare));
    return {
      about: `${events} events, ${publishers} publishers, one endpoint; CPU-seconds per 1,000 created and delivered`,
      rows,
      goals: [
        { goal: 'CPU-s per 1,000 delivered, all processes and stores ≤ 0.5', measured: cpu, met: cpu <= 0.5 },
        ...Object.entries(peers).map(([peer, theirs]) => ({
          goal: `… relative to one Express 5 + pg insert: less than ${peer}, ${theirs}×`,
          measured: ratio,
          met: ratio < theirs,
        })),
        { goal: 'delivered/s (a Go peer: 1,280)', measured: median(of('rms', 'delivered/s')), met: true },
        { goal: 'repeated deliveries = 0', measured: receiver.repeated(), met: receiver.repeated() === 0 },
      ],
    };
  } finally {
    await baseline.stop();
    receiver.stop();
    await shape.stop();
  }
}

/** Returns a body for an event of about 380 bytes. */
function bodyOf(round, i) {
  return JSON.stringify({ name: `Resource ${round}-${i}`, metadata: { note: 'n'.repeat(90) } });
}
