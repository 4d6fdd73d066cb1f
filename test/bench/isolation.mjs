import pg from 'pg';
import { startDistributed } from './distributed.mjs';
import { openPublisher } from './events.mjs';
import { latencies, pace } from './pace.mjs';
import { median, quantile } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const perSecond = 50;
const failingPerSecond = 80;
const deadWebhooks = 100;
const rounds = 7;

/**
 * Measures a healthy endpoint's latency, from publishing the event to its arrival, while other endpoints of the
 * same workspace hang, drip or are dead with a large backlog. A control run with the same events precedes each such
 * run: the other endpoint responds immediately, or has no backlog. A backlog that is not yet due shows the cost of its
 * size. Each figure is the median of several rounds, because one disk stall determines the p99 of its round.
 */
export async function run({ quick }) {
  const seconds = quick ? 5 : 12;
  const backlog = quick ? 50_000 : 1_000_000;
  // fsync is off: disk stalls of tens of milliseconds would exceed the measured times.
  const shape = await startDistributed({}, { fsync: 'off' });
  const receiver = await startBenchReceiver();
  // A separate process, so that handling a thousand hanging calls does not delay the healthy endpoint.
  const troubled = await startBenchReceiver();
  const publisher = await openPublisher(shape.env);
  const db = new pg.Client({ connectionString: shape.env.DATABASE_URL });
  await db.connect();
  try {
    const { key } = await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const { data: workspaces } = await shape.rms('workspaces', 'list');
    const workspaceId = workspaces[0].id;
    await createWebhook(shape.liveUrl, headers, receiver.url);
    await createWebhook(shape.liveUrl, headers, troubled.url, '/hang', 'resource.updated');
    await createWebhook(shape.liveUrl, headers, troubled.url, '/drip', 'resource.deleted');
    await createWebhook(shape.liveUrl, headers, troubled.url, '/baseline', 'resource.status_changed');

    const healthy = (forSeconds = seconds) =>
      latencies(publisher, receiver, workspaceId, { perSecond, seconds: forSeconds });
    const loadName = async (type) => {
      // Starts 5 s earlier, so that hanging requests have accumulated before the measurement.
      const trouble = pace(publisher, workspaceId, { perSecond: failingPerSecond, seconds: seconds + 5, type });
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      const waited = await healthy();
      await trouble;
      return waited;
    };
    const alone = 'nothing';
    const responding = `an endpoint that responds immediately, ${failingPerSecond}/s`;
    const waiting = `${backlog} retries of ${deadWebhooks} dead endpoints, not yet due`;
    const backlogged = `${backlog} due retries of ${deadWebhooks} dead endpoints`;
    const started = `the same retries, first ${seconds} s after they fall due`;
    const busy = () => loadName('resource.status_changed');
    const waits = new Map();
    const measure = async (name, run) => {
      waits.set(name, [...(waits.get(name) ?? []), await run()]);
      if (![alone, waiting, started, backlogged].includes(name)) await dropOthers(db);
    };
    for (let i = 0; i < 2; i++) await healthy(); // warm-up
    await shape.analyze();
    for (let round = 0; round < rounds; round++) {
      await measure(alone, healthy);
      await measure(responding, busy);
      await measure(`an endpoint that hangs, ${failingPerSecond}/s`, () => loadName('resource.updated'));
      await measure(responding, busy);
      await measure(`an endpoint that sends one byte per second, ${failingPerSecond}/s`, () =>
        loadName('resource.deleted'),
      );
    }
    const dead = [];
    for (let i = 0; i < deadWebhooks; i++) {
      dead.push(await createWebhook(shape.liveUrl, headers, 'http://127.0.0.1:65535', '/', 'resource.status_changed'));
    }
    const dueAtMs = Date.now() + (quick ? 10_000 : 60_000) + rounds * (seconds + 2) * 1_000;
    await fillBacklog(db, workspaceId, dead, backlog, new Date(dueAtMs));
    for (let round = 0; round < rounds; round++) await measure(waiting, healthy);
    if (Date.now() > dueAtMs) throw new Error('the backlog fell due before the control run ended');
    // Events continue until all retries fall due together, in the first round by their own times.
    await healthy(Math.max(0, dueAtMs - Date.now()) / 1_000 - 1);
    await measure(started, healthy);
    for (let round = 1; round < rounds; round++) {
      await closeCircuits(db, dead);
      await healthy(2);
      await measure(started, healthy);
    }
    for (let round = 0; round < rounds; round++) await measure(backlogged, healthy);
    const figures = (name) => {
      const waited = waits.get(name);
      const p99s = waited.map((round) => quantile(round, 0.99));
      const p50 = median(waited.map((round) => quantile(round, 0.5)));
      const ofAll = quantile(waited.flat(), 0.99);
      return {
        p50,
        p99: median(p99s),
        'p99 of all rounds': ofAll,
        'p99 of each round': p99s.map(Math.round).join(' '),
      };
    };
    const rows = [];
    const goals = [];
    const calm = {
      [alone]: undefined,
      [responding]: undefined,
      [waiting]: alone,
      [backlogged]: alone,
      [started]: alone,
    };
    for (const name of waits.keys()) {
      const own = name in calm ? calm[name] : responding;
      if (!own) {
        rows.push({ alongside: name, ...figures(name) });
        continue;
      }
      const ratio = figures(name).p99 / figures(own).p99;
      rows.push({ alongside: name, ...figures(name), 'control run': own, ratio });
      if (name === waiting) continue;
      goals.push({ goal: `p99 alongside ${name} ≤ 1.2×`, measured: ratio, met: ratio <= 1.2 });
    }
    return {
      about: `${perSecond} events per second to a healthy endpoint, milliseconds from the bus to its arrival`,
      rows,
      goals,
    };
  } finally {
    await db.end();
    await publisher.close();
    receiver.stop();
    troubled.stop();
    await shape.stop();
  }
}

/**
 * Deletes remaining deliveries of the troubled endpoints, so that they do not affect the next control run. Retries on a
 * deadlock with the engine (40P01).
 */
async function dropOthers(db) {
  for (;;) {
    try {
      await db.query("delete from webhooks.deliveries where event_type <> 'resource.created'");
      return;
    } catch (error) {
      if (error.code !== '40P01') throw error;
    }
  }
}

/** Makes all webhooks due together in three seconds, with closed circuits and the limit of endpoints that have failed. */
async function closeCircuits(db, webhookIds) {
  await db.query(
    `update webhooks.endpoints
        set next_due_at = now() + interval '3 seconds', not_before = null, pause_ms = 0, open_since = null,
            concurrency = 1
      where webhook_id = any($1)`,
    [webhookIds],
  );
}

/** Inserts retries for endpoints that refuse connections, all due at the same time. */
async function fillBacklog(db, workspaceId, dead, count, dueAt) {
  await db.query(
    `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                      sequence, request_id, tries, due_at)
     select workspace_id, environment, webhooks.first_id('dlv', now()) || lpad(i::text, 16, '0'), e.id,
            ($3::text[])[i % ${deadWebhooks} + 1], 'resource.deleted', resource_id, 1, request_id, 1, $4
       from (select * from webhooks.events where workspace_id = $1 limit 1) as e, generate_series(1, $2) as i`,
    [workspaceId, count, dead, dueAt],
  );
  await db.query('update webhooks.endpoints set concurrency = 1 where webhook_id = any($1)', [dead]);
  // Keeps the cost of filling the table out of the measurement.
  await db.query('vacuum analyze webhooks.deliveries');
  await db.query('checkpoint');
}
