import { startStandalone } from '@rms/testkit';
import { Pool } from 'undici';
import { openSettings, startDistributed } from './distributed.mjs';
import { quantile } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const perSecond = 50;

/** Measures the time from sending a create, and from its response, to the arrival at the receiver. */
export async function run({ quick }) {
  const count = perSecond * (quick ? 5 : 20);
  const shapes = {
    distributed: { start: startDistributed, p50: 5, p99: 12 },
    standalone: { start: () => startStandalone({ env: openSettings }), p50: 2, p99: 8 },
  };
  const rows = [];
  const goals = [];
  for (const [name, { start, p50, p99 }] of Object.entries(shapes)) {
    const shape = await start();
    try {
      const row = { shape: name, ...(await measureLatency(shape, count)) };
      rows.push(row);
      goals.push(
        {
          goal: `${name}: answered → received p50 ≤ ${p50} ms`,
          measured: row['answered p50'],
          met: row['answered p50'] <= p50,
        },
        {
          goal: `${name}: answered → received p99 ≤ ${p99} ms`,
          measured: row['answered p99'],
          met: row['answered p99'] <= p99,
        },
      );
    } finally {
      await shape.stop();
    }
  }
  return {
    about: `${perSecond} events per second, milliseconds from sending the create, and from its response, to the receiver`,
    rows,
    goals,
  };
}

async function measureLatency(shape, count) {
  const receiver = await startBenchReceiver();
  const pool = new Pool(shape.liveUrl, { connections: 8 });
  try {
    const { key } = await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    await createWebhook(shape.liveUrl, headers, receiver.url);
    const sent = new Map();
    const create = async (i) => {
      const sentAtMs = wallMs();
      const body = JSON.stringify({ name: `Resource ${i}`, metadata: { note: 'n'.repeat(90) } });
      const response = await pool.request({ method: 'POST', path: '/v1/resources', headers, body });
      const { data } = JSON.parse(await response.body.text());
      sent.set(data.id, { sentAtMs, respondedAtMs: wallMs() });
    };
    const pace = async (total) => {
      const startedAtMs = performance.now();
      const running = [];
      for (let i = 0; i < total; i++) {
        const dueInMs = startedAtMs + (i * 1_000) / perSecond - performance.now();
        if (dueInMs > 0) await new Promise((resolve) => setTimeout(resolve, dueInMs));
        running.push(create(i));
      }
      await Promise.all(running);
    };
    await pace(perSecond * 4); // warm-up
    await receiver.until(sent.size);
    await shape.analyze?.();
    const warm = new Set(sent.keys());
    await pace(count);
    await receiver.until(sent.size);
    const measured = [...sent].filter(([id]) => !warm.has(id));
    const since = (field) => measured.map(([id, times]) => receiver.arrivals.get(id) - times[field]);
    return {
      'sent p50': quantile(since('sentAtMs'), 0.5),
      'sent p99': quantile(since('sentAtMs'), 0.99),
      'answered p50': quantile(since('respondedAtMs'), 0.5),
      'answered p99': quantile(since('respondedAtMs'), 0.99),
    };
  } finally {
    receiver.stop();
    await pool.close();
  }
}

/** Current time in milliseconds with microsecond resolution, comparable between processes on the same machine. */
function wallMs() {
  return performance.timeOrigin + performance.now();
}
