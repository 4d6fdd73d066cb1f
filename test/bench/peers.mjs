import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { root } from '../../scripts/lib/prepare.mjs';
import { load } from './load.mjs';
import { releases } from './peers/build.mjs';
import { writeDocument } from './peers/document.mjs';
import { settingsOfOutpost, startOutpost } from './peers/outpost.mjs';
import { settingsOfRms, startRms } from './peers/rms.mjs';
import { settingsOfSvix, startSvix } from './peers/svix.mjs';
import { measure, median, memoryMb, quantile, sum } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const starts = { rms: startRms, Svix: startSvix, Outpost: startOutpost };
const publishers = 32;
const perSecond = 50;
/** Rate of the load with a slow endpoint. */
const besideSlowPerSecond = 80;
/** V8 and PostgreSQL do their idle work between loads only if the pause is long enough. */
const pauseMs = 7_000;
const drainTimeoutMs = 15 * 60_000;

/**
 * Compares rms, Svix and Outpost, each with its own stores. Bursts, 50 events per second and idle: all run during the
 * whole comparison, and each load runs on one after the other, in changing order. A slow endpoint, and due retries: one
 * system after the other, because the load leaves work behind. Every event must arrive, and its repetitions are counted.
 */
export async function run({ quick }) {
  const rows = [...(await inRounds(quick)), ...(await besideSlowEndpoint(quick)), ...(await dueRetries(quick))];
  const machine = `${cpus().length} × ${cpus()[0].model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  if (!quick) {
    writeDocument({
      machine,
      date: new Date().toISOString().slice(0, 10),
      versions: { rms: version, Svix: releases.svix.version, Outpost: releases.outpost.version },
      settings: { rms: settingsOfRms, Svix: settingsOfSvix, Outpost: settingsOfOutpost },
      rows,
      ahead: rows.flatMap(figuresOfPeersAhead),
    });
  }
  return { about: `${machine}; medians; written to docs unless --quick`, rows, goals: [] };
}

/** Returns the figure of a row and the peers that have a better one. */
function figuresOfPeersAhead({ figure, ...of }) {
  const isRate = figure.endsWith('/s');
  const peers = Object.keys(of).filter((name) => name !== 'rms' && (isRate ? of[name] > of.rms : of[name] < of.rms));
  return peers.length === 0 ? [] : [`${figure} (${peers.join(', ')})`];
}

async function inRounds(quick) {
  const systems = [];
  try {
    for (const name of Object.keys(starts)) systems.push(await open(name));
    const samples = {};
    const round = async (work, { isCounted = true, betweenMs = 0 } = {}) => {
      // Each system comes first in turn.
      systems.push(systems.shift());
      for (const system of systems) {
        const figures = await work(system);
        await delay(betweenMs);
        if (!isCounted) continue;
        for (const [figure, value] of Object.entries(figures)) {
          samples[figure] ??= Object.fromEntries(Object.keys(starts).map((name) => [name, []]));
          samples[figure][system.name].push(value);
        }
      }
    };
    const burst = (system) => measureBurst(system, quick ? 1_000 : 5_000);
    await round(burst, { isCounted: false });
    for (let i = 0; i < (quick ? 1 : 5); i++) await round(burst, { betweenMs: pauseMs / 3 });
    for (let i = 0; i < (quick ? 1 : 3); i++) await round((system) => measurePace(system, quick ? 5 : 15));
    await delay(pauseMs);
    for (let i = 0; i < (quick ? 1 : 3); i++) await round((system) => measureIdle(system, quick ? 3 : 5));
    for (const { name, receiver } of systems) {
      samples['events that arrived twice'] ??= {};
      samples['events that arrived twice'][name] = [receiver.repeated()];
    }
    return Object.entries(samples).map(([figure, of]) => row(figure, of));
  } finally {
    for (const system of systems) await system.close();
  }
}

/** Starts a system with one endpoint, which returns 200. */
async function open(name, options = {}, path = '/hook') {
  const receiver = await startBenchReceiver();
  const system = await starts[name](options).catch((error) => {
    receiver.stop();
    throw error;
  });
  const close = async () => {
    receiver.stop();
    await system.stop();
  };
  await system.addEndpoint(receiver.url + path, options).catch(async (error) => {
    await close();
    throw error;
  });
  let last = 0;
  return { ...system, name, receiver, close, nextId: () => `bench-${++last}` };
}

async function publishAll(system, events) {
  await load({
    url: system.url,
    connections: publishers,
    count: events,
    expect: system.expect,
    request: () => system.publish(system.nextId()),
  });
}

async function measureBurst(system, events) {
  const expected = system.receiver.arrivals.size + events;
  const { seconds, cpu } = await measure(system.pids(), async () => {
    await publishAll(system, events);
    await system.receiver.until(expected);
  });
  return {
    'burst: delivered/s': events / seconds,
    'burst: CPU-s per 1,000': (sum(cpu) / events) * 1_000,
    'burst: memory, MB': sum(Object.values(system.pids()).map(memoryMb)),
  };
}

/** Publishes at a constant rate; returns the time of each request by event ID, and the latencies of the responses. */
async function publishAtRate(system, rate, seconds) {
  const pool = new Pool(system.url, { connections: 8 });
  const sentAtMs = new Map();
  const responsesMs = [];
  const publish = async () => {
    const id = system.nextId();
    const atMs = wallMs();
    const { statusCode, body } = await pool.request(system.publish(id));
    const text = await body.text();
    if (statusCode !== system.expect) throw new Error(`${system.name} returned ${statusCode}: ${text}`);
    responsesMs.push(wallMs() - atMs);
    sentAtMs.set(system.idOf(id, text), atMs);
  };
  const startedAtMs = performance.now();
  const running = [];
  for (let i = 0; i < rate * seconds; i++) {
    const dueInMs = startedAtMs + (i * 1_000) / rate - performance.now();
    if (dueInMs > 0) await delay(dueInMs);
    running.push(publish());
  }
  await Promise.all(running);
  await pool.close();
  return { sentAtMs, responsesMs };
}

async function measurePace(system, seconds) {
  const before = system.receiver.arrivals.size;
  const total = perSecond * seconds;
  const { result, cpu } = await measure(system.pids(), async () => {
    const published = await publishAtRate(system, perSecond, seconds);
    await system.receiver.until(before + total);
    return published;
  });
  const latenciesMs = [...result.sentAtMs].map(([id, atMs]) => system.receiver.arrivals.get(id) - atMs);
  return {
    [`${perSecond}/s: response p50, ms`]: quantile(result.responsesMs, 0.5),
    [`${perSecond}/s: response p99, ms`]: quantile(result.responsesMs, 0.99),
    [`${perSecond}/s: publish to receiver p50, ms`]: quantile(latenciesMs, 0.5),
    [`${perSecond}/s: publish to receiver p99, ms`]: quantile(latenciesMs, 0.99),
    [`${perSecond}/s: CPU-s per 1,000`]: (sum(cpu) / total) * 1_000,
  };
}

async function measureIdle(system, seconds) {
  const { cpu } = await measure(system.pids(), () => delay(seconds * 1_000));
  return {
    'idle: % of a core': (sum(cpu) / seconds) * 100,
    'idle: memory, MB': sum(Object.values(system.pids()).map(memoryMb)),
  };
}

/** An endpoint that takes ten seconds next to one that returns immediately: latencies of the latter. */
async function besideSlowEndpoint(quick) {
  const samples = {};
  for (const name of Object.keys(starts)) {
    const system = await open(name);
    try {
      await system.addEndpoint(`${system.receiver.url}/late`);
      const seconds = quick ? 10 : 20;
      const { sentAtMs } = await publishAtRate(system, besideSlowPerSecond, seconds);
      await system.receiver.until(sentAtMs.size, drainTimeoutMs);
      const latenciesMs = [...sentAtMs].map(([id, atMs]) => system.receiver.arrivals.get(id) - atMs);
      const add = (figure, value) => {
        samples[figure] ??= {};
        samples[figure][name] = [value];
      };
      add('next to a slow endpoint: p50, ms', quantile(latenciesMs, 0.5));
      add('next to a slow endpoint: p99, ms', quantile(latenciesMs, 0.99));
    } finally {
      await system.close();
    }
  }
  return Object.entries(samples).map(([figure, of]) => row(figure, of));
}

/** Events fail once; the system is killed, and starts again when all retries are due and the endpoint has recovered. */
async function dueRetries(quick) {
  const events = quick ? 2_000 : 5_000;
  const retryAfterSeconds = quick ? 10 : 30;
  const samples = {};
  for (const name of Object.keys(starts)) {
    const system = await open(name, { retryAfterSeconds }, '/failing');
    try {
      await publishAll(system, events);
      await system.kill();
      system.receiver.recover();
      await delay((retryAfterSeconds + 5) * 1_000);
      await system.restart();
      const { seconds, cpu } = await measure(system.pids(), () => system.receiver.until(events, drainTimeoutMs));
      const add = (figure, value) => {
        samples[figure] ??= {};
        samples[figure][name] = [value];
      };
      add(`${events.toLocaleString('en')} due retries: delivered/s`, events / seconds);
      add(`${events.toLocaleString('en')} due retries: CPU-s per 1,000`, (sum(cpu) / events) * 1_000);
      add(`${events.toLocaleString('en')} due retries: arrived twice`, system.receiver.repeated());
    } finally {
      await system.close();
    }
  }
  return Object.entries(samples).map(([figure, of]) => row(figure, of));
}

function row(figure, of) {
  return { figure, ...Object.fromEntries(Object.entries(of).map(([name, values]) => [name, median(values)])) };
}

function wallMs() {
  return performance.timeOrigin + performance.now();
}
