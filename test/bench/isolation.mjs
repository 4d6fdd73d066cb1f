import pg from 'pg';
import { startDistributed } from './distributed.mjs';
import { newEvent, openPublisher } from './events.mjs';
import { median, quantile } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const perSecond = 50;
const troublePerSecond = 80;
const deadWebhooks = 100;
const rounds = 7;

/**
 * How long a healthy endpoint waits, from the event that goes to the bus to its arrival, beside others of the same
 * workspace that hang, drip or are dead with a large backlog. Before each such run goes its calm run, with the same events:
 * the other endpoint answers at once, or has no backlog; a backlog that is not yet due tells what its size costs. Each
 * figure is the median of several rounds: a disk that stalls makes the p99 of the one in which it does so.
 */
export async function run({ quick }) {
  const seconds = quick ? 5 : 12;
  const backlog = quick ? 50_000 : 1_000_000;
  // Without the disk, whose stalls of tens of milliseconds are longer than what is measured.
  const shape = await startDistributed({}, { fsync: 'off' });
  const receiver = await startBenchReceiver();
  // A process of its own, so that what it does for a thousand hanging calls does not delay the healthy endpoint itself.
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

    /** Events at a pace; answers with when each was sent. */
    const pace = async (type, rate, total) => {
      const sent = new Map();
      const startedAtMs = performance.now();
      const running = [];
      for (let i = 0; i < total; i++) {
        const dueInMs = startedAtMs + (i * 1_000) / rate - performance.now();
        if (dueInMs > 0) await new Promise((resolve) => setTimeout(resolve, dueInMs));
        const event = newEvent(workspaceId, type);
        sent.set(event.resourceId, performance.timeOrigin + performance.now());
        running.push(publisher.publish(i % 6, [event]));
      }
      await Promise.all(running);
      return sent;
    };
    const healthy = async (forSeconds = seconds) => {
      const before = receiver.arrivals.size;
      const sent = await pace('resource.created', perSecond, Math.round(perSecond * forSeconds));
      await receiver.until(before + sent.size);
      return [...sent].map(([id, atMs]) => receiver.arrivals.get(id) - atMs);
    };
    const beside = async (type) => {
      // Under way for a while already, so that all that can be stuck is.
      const trouble = pace(type, troublePerSecond, troublePerSecond * (seconds + 5));
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      const waited = await healthy();
      await trouble;
      return waited;
    };
    const alone = 'nothing';
    const answering = `one that answers at once, ${troublePerSecond}/s`;
    const waiting = `${backlog} retries of ${deadWebhooks} dead endpoints, not yet due`;
    const backlogged = `${backlog} due retries of ${deadWebhooks} dead endpoints`;
    const begun = `them in their first ${seconds} s`;
    const busy = () => beside('resource.status_changed');
    const waits = new Map();
    const measure = async (name, run) => {
      waits.set(name, [...(waits.get(name) ?? []), await run()]);
      if (![alone, waiting, backlogged].includes(name)) await dropOthers(db);
    };
    for (let i = 0; i < 2; i++) await healthy(); // warm-up
    await shape.analyze();
    for (let round = 0; round < rounds; round++) {
      await measure(alone, healthy);
      await measure(answering, busy);
      await measure(`one that hangs, ${troublePerSecond}/s`, () => beside('resource.updated'));
      await measure(answering, busy);
      await measure(`one that sends a byte a second, ${troublePerSecond}/s`, () => beside('resource.deleted'));
    }
    const dead = [];
    for (let i = 0; i < deadWebhooks; i++) {
      dead.push(await createWebhook(shape.liveUrl, headers, 'http://127.0.0.1:65535', '/', 'resource.status_changed'));
    }
    const dueAtMs = Date.now() + (quick ? 10_000 : 60_000) + rounds * (seconds + 2) * 1_000;
    await fillBacklog(db, workspaceId, dead, backlog, new Date(dueAtMs));
    for (let round = 0; round < rounds; round++) await measure(waiting, healthy);
    if (Date.now() > dueAtMs) throw new Error('the backlog fell due before it was measured at rest');
    // The first one sees the moment at which all fall due, and has a row of its own as well. Until then events go on.
    await healthy(Math.max(0, dueAtMs - Date.now()) / 1_000 - 1);
    for (let round = 0; round < rounds; round++) await measure(backlogged, healthy);
    waits.set(begun, waits.get(backlogged).slice(0, 1));
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
    const calm = { [alone]: undefined, [answering]: undefined, [waiting]: alone, [backlogged]: alone, [begun]: alone };
    for (const name of waits.keys()) {
      const own = name in calm ? calm[name] : answering;
      if (!own) {
        rows.push({ beside: name, ...figures(name) });
        continue;
      }
      const ratio = figures(name).p99 / figures(own).p99;
      rows.push({ beside: name, ...figures(name), 'its calm run': own, ratio });
      if (name === waiting || name === begun) continue;
      goals.push({ goal: `p99 beside ${name} ≤ 1.2×`, measured: ratio, met: ratio <= 1.2 });
    }
    return {
      about: `${perSecond} events a second to a healthy endpoint, milliseconds from the bus to it`,
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

/** What is left of a trouble, so that it is none of the next calm run. The engine may be at the same rows. */
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

/** Retries of endpoints that refuse connections, all due at one moment. */
async function fillBacklog(db, workspaceId, dead, count, dueAt) {
  await db.query(
    `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                      sequence, request_id, tries, due_at)
     select workspace_id, environment, webhooks.first_id('dlv', now()) || lpad(i::text, 16, '0'), e.id,
            ($3::text[])[i % ${deadWebhooks} + 1], 'resource.deleted', resource_id, 1, request_id, 1, $4
       from (select * from webhooks.events where workspace_id = $1 limit 1) as e, generate_series(1, $2) as i`,
    [workspaceId, count, dead, dueAt],
  );
  // Filling it is not what is measured.
  await db.query('vacuum analyze webhooks.deliveries');
  await db.query('checkpoint');
}
