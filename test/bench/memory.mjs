import { setTimeout as delay } from 'node:timers/promises';
import { startStandalone } from '@rms/testkit';
import { openSettings } from './distributed.mjs';
import { load } from './load.mjs';
import { cpuSeconds, measure, median, memoryByProcess } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const publishers = 32;
const limitMb = 300;
/** Wait after the burst: idle database connections close after 10 s. */
const settleMs = 15_000;
/** The process tree is idle if it uses at most this share of a core for a second. */
const idleShare = 0.1;
const idleWaitMs = 15_000;

// Default settings, except for the limits and the receiver on loopback.
const { LOG_LEVEL: _, ...settings } = openSettings;

/**
 * Measures the resident memory of `npm start` after a burst: 32 publishers create resources, one endpoint returns 200.
 * Each round starts with an empty data directory.
 */
export async function run({ quick }) {
  const events = quick ? 2_000 : 10_000;
  const rounds = quick ? 1 : 3;
  const rows = [];
  const bursts = [];
  for (let round = 1; round <= rounds; round++) {
    const { burst, started, ended, idle } = await measureRound(events);
    bursts.push({ ...burst, ...totals(idle) });
    rows.push(
      { round, when: 'started', ...totals(started) },
      { round, when: 'end of the burst', ...totals(ended), ...burst },
      { round, when: 'idle', ...totals(idle) },
    );
    if (round === rounds) rows.push(...byProcess(idle).map((row) => ({ round, ...row })));
  }
  const of = (field) => median(bursts.map((row) => row[field]));
  const memory = of('node RSS + PostgreSQL PSS MB');
  const rss = of('RSS MB');
  return {
    about: `npm start after ${events} events from ${publishers} publishers; PSS counts shared pages once`,
    rows,
    goals: [
      { goal: `idle: RSS of node + PSS of PostgreSQL ≤ ${limitMb} MB`, measured: memory, met: memory <= limitMb },
      { goal: `idle: RSS of all processes ≤ ${limitMb} MB`, measured: rss, met: rss <= limitMb },
      { goal: 'events/s', measured: of('events/s'), met: true },
      { goal: 'CPU-s per 1,000', measured: of('CPU-s/1000'), met: true },
    ],
  };
}

async function measureRound(events) {
  const shape = await startStandalone({ env: settings });
  const receiver = await startBenchReceiver();
  try {
    const { key } = await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    await createWebhook(shape.liveUrl, headers, receiver.url);
    const started = memoryByProcess(shape.pid);
    const request = (i) => ({ method: 'POST', path: '/v1/resources', headers, body: bodyOf(i) });
    const { seconds, cpu } = await measure({ tree: shape.pid }, async () => {
      await load({ url: shape.liveUrl, connections: publishers, count: events, expect: 201, request });
      await receiver.until(events);
    });
    const ended = memoryByProcess(shape.pid);
    await delay(settleMs);
    await untilIdle(shape.pid);
    return {
      started,
      ended,
      idle: memoryByProcess(shape.pid),
      burst: { 'events/s': Math.round(events / seconds), 'CPU-s/1000': (cpu.tree / events) * 1_000 },
    };
  } finally {
    receiver.stop();
    await shape.stop();
  }
}

async function untilIdle(pid) {
  const giveUpAtMs = performance.now() + idleWaitMs;
  for (let used = 1; used > idleShare && performance.now() < giveUpAtMs; ) {
    const before = cpuSeconds(pid);
    await delay(1_000);
    used = cpuSeconds(pid) - before;
  }
}

function totals(processes) {
  const sumOf = (field, isCounted) =>
    processes.reduce((total, process) => (isCounted(process) ? total + process[field] : total), 0);
  const isNode = ({ name }) => name === 'node';
  const isPostgres = (process) => !isNode(process);
  const node = sumOf('rssMb', isNode);
  const postgres = sumOf('rssMb', isPostgres);
  const postgresPss = sumOf('pssMb', isPostgres);
  return {
    'RSS MB': node + postgres,
    'node RSS + PostgreSQL PSS MB': node + postgresPss,
    'node RSS MB': node,
    'PostgreSQL RSS MB': postgres,
    'PostgreSQL PSS MB': postgresPss,
    processes: processes.length,
  };
}

/** Returns one row per kind of process. */
function byProcess(processes) {
  const kinds = Map.groupBy(processes, ({ name }) => name);
  return [...kinds].map(([when, members]) => ({
    when,
    'RSS MB': members.reduce((total, { rssMb }) => total + rssMb, 0),
    'node RSS + PostgreSQL PSS MB': members.reduce((total, { pssMb }) => total + pssMb, 0),
    processes: members.length,
  }));
}

/** Returns a body for an event of about 380 bytes. */
function bodyOf(i) {
  return JSON.stringify({ name: `Resource ${i}`, metadata: { note: 'n'.repeat(90) } });
}
