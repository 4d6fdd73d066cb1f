import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startDistributed } from './distributed.mjs';
import { newEvent, openPublisher } from './events.mjs';
import { measure, median, sum } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

/**
 * Measures the webhooks service with Kafka and PostgreSQL, from the record on the bus to the attempt in the log. Rounds
 * alternate with a bare loop that POSTs and inserts one row per delivery.
 */
export async function run({ quick }) {
  const count = quick ? 2_000 : 10_000;
  const rounds = quick ? 1 : 4;
  const shape = await startDistributed();
  const receiver = await startBenchReceiver();
  const publisher = await openPublisher(shape.env);
  const env = { ...process.env, NODE_ENV: 'production', DATABASE_URL: await shape.createDatabase() };
  const baseline = fork(join(import.meta.dirname, 'baseline', 'deliver.mjs'), { env });
  await once(baseline, 'message');
  try {
    const { key } = await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    await createWebhook(shape.liveUrl, headers, receiver.url);
    const { data: workspaces } = await shape.rms('workspaces', 'list');
    const { webhooks, postgres, kafka } = shape.pids;
    const engineRound = () => {
      const events = Array.from({ length: count }, () => newEvent(workspaces[0].id));
      const before = receiver.arrivals.size;
      return measure({ webhooks, postgres, kafka }, async () => {
        await publisher.publishAll(events);
        await receiver.until(before + count);
      });
    };
    const baselineRound = () =>
      measure({ loop: baseline.pid, postgres }, async () => {
        baseline.send({ url: `${receiver.url}/baseline`, count });
        await once(baseline, 'message');
      });
    const rows = [];
    for (let round = 0; round <= rounds; round++) {
      for (const [name, once] of Object.entries({ engine: engineRound, 'bare loop': baselineRound })) {
        const { seconds, cpu } = await once();
        const perThousand = Object.fromEntries(
          Object.entries(cpu).map(([part, value]) => [part, (value / count) * 1_000]),
        );
        if (round === 0) continue; // warm-up
        rows.push({
          what: name,
          'per second': Math.round(count / seconds),
          'CPU-s/1000': sum(perThousand),
          ...perThousand,
        });
      }
      if (round === 0) await shape.analyze();
    }
    const of = (name, field) => median(rows.filter(({ what }) => what === name).map((row) => row[field]));
    const cpu = of('engine', 'CPU-s/1000') / of('bare loop', 'CPU-s/1000');
    const rate = of('engine', 'per second') / of('bare loop', 'per second');
    return {
      about: `${count} events from the bus to one endpoint; CPU-seconds per 1,000 delivered`,
      rows,
      goals: [
        {
          goal: 'CPU per delivery of engine, PostgreSQL and Kafka, ratio to the bare loop ≤ 1.8',
          measured: cpu,
          met: cpu <= 1.8,
        },
        { goal: 'delivered per second, ratio to the bare loop ≥ 0.45', measured: rate, met: rate >= 0.45 },
        { goal: 'repeated deliveries = 0', measured: receiver.repeated(), met: receiver.repeated() === 0 },
      ],
    };
  } finally {
    baseline.disconnect();
    await publisher.close();
    receiver.stop();
    await shape.stop();
  }
}
