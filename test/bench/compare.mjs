import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { root } from '../../scripts/lib/prepare.mjs';
import { load } from './load.mjs';
import { measure, median, memoryMb, quantile, sum } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const publishers = 32;
const perSecond = 50;
/** V8 and PostgreSQL do their idle work between loads only if the pause is long enough. */
const pauseMs = 7_000;
const tolerance = 1.02;
const shapes = ['standalone', 'distributed'];

/**
 * Compares the working tree with the commit `base`: bursts with pauses, 50 events per second, GET by ID, and idle.
 * Both versions run during the whole comparison, and each load runs on one after the other, in alternating order.
 * Every ratio is taken within a round, so that a machine with drifting speed does not change it.
 */
export async function run({ quick, base }) {
  const checkout = checkOut(base);
  try {
    const rows = [];
    for (const shape of shapes) rows.push(...(await compareShape(shape, checkout.folder, quick)));
    return {
      about: `this working tree (new) and ${checkout.commit} (base), each figure the median; ratios are new ÷ base within a round`,
      rows,
      goals: [worseInEveryRound(rows)],
    };
  } finally {
    checkout.remove();
  }
}

/** A figure counts as worse only if every round says so, because single rounds differ by more than the tolerance. */
function worseInEveryRound(rows) {
  const isWorse = ({ figure, least, most }) => (figure.endsWith('/s') ? most < 1 / tolerance : least > tolerance);
  const worse = rows.filter(isWorse).map(({ shape, figure, ratio }) => `${shape} ${figure} ${ratio.toFixed(2)}`);
  return {
    goal: `no figure is worse than ${tolerance}× in every round`,
    measured: worse.join(', ') || 'none',
    met: worse.length === 0,
  };
}

/** Checks out a commit in a temporary folder, with its dependencies. */
function checkOut(ref) {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const commit = git('rev-parse', '--short', `${ref}^{commit}`);
  const parent = mkdtempSync(join(tmpdir(), 'rms-compare-'));
  const folder = join(parent, 'base');
  const remove = () => {
    git('worktree', 'remove', '--force', folder);
    rmSync(parent, { recursive: true, force: true });
  };
  git('worktree', 'add', '--detach', folder, commit);
  try {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  } catch (error) {
    remove();
    throw error;
  }
  return { commit, folder, remove };
}

async function compareShape(shape, baseFolder, quick) {
  const versions = [];
  try {
    for (const [name, folder] of Object.entries({ new: root, base: baseFolder })) {
      versions.push(await openVersion(name, shape, folder));
    }
    const samples = {};
    /** Runs a load on each version, and collects the figures of each round. */
    const round = async (work, { isCounted = true, betweenMs = 0 } = {}) => {
      versions.reverse();
      const figures = {};
      for (const version of versions) {
        figures[version.name] = await work(version);
        await delay(betweenMs);
      }
      if (!isCounted) return;
      for (const figure of Object.keys(figures.new)) {
        samples[figure] ??= [];
        samples[figure].push({ new: figures.new[figure], base: figures.base[figure] });
      }
    };
    const burst = (version) => measureBurst(version, quick ? 1_000 : 4_000);
    await round(burst, { isCounted: false });
    for (const version of versions) await version.analyze();
    // With two alternating versions, the pause of each contains the other's burst as well.
    for (let i = 0; i < (quick ? 2 : 6); i++) await round(burst, { betweenMs: pauseMs / 2 });
    for (let i = 0; i < (quick ? 1 : 3); i++) await round((version) => measurePace(version, quick ? 3 : 10));
    for (let i = 0; i < (quick ? 1 : 4); i++) await round((version) => measureReads(version, quick ? 2_000 : 5_000));
    await delay(pauseMs);
    for (let i = 0; i < (quick ? 1 : 3); i++) await round((version) => measureIdle(version, quick ? 2 : 5));
    return Object.entries(samples).map(([figure, pairs]) => row(shape, figure, pairs));
  } finally {
    for (const version of versions) await version.stop();
  }
}

/** Starts a version with its checkout's helpers, because they know its programs and settings. */
async function openVersion(name, shape, folder) {
  const { openSettings, startDistributed } = await import(join(folder, 'test/bench/distributed.mjs'));
  const { startStandalone } = await import(join(folder, 'packages/testkit/src/index.ts'));
  const { LOG_LEVEL: _, ...quietSettings } = openSettings;
  const running = shape === 'standalone' ? await startStandalone({ env: quietSettings }) : await startDistributed();
  const receiver = await startBenchReceiver();
  const { key } = await running.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  await createWebhook(running.liveUrl, headers, receiver.url);
  return {
    name,
    url: running.liveUrl,
    headers,
    receiver,
    pids: running.pids ?? { tree: running.pid },
    analyze: async () => running.analyze?.(),
    async stop() {
      receiver.stop();
      await running.stop();
    },
  };
}

async function measureBurst({ url, headers, receiver, pids }, events) {
  const expected = receiver.arrivals.size + events;
  const request = (i) => ({ method: 'POST', path: '/v1/resources', headers, body: bodyOf(i) });
  const { seconds, cpu } = await measure(pids, async () => {
    await load({ url, connections: publishers, count: events, expect: 201, request });
    await receiver.until(expected);
  });
  return {
    'burst: CPU-s per 1,000': (sum(cpu) / events) * 1_000,
    'burst: delivered/s': events / seconds,
    'burst: memory, MB': sum(Object.values(pids).map(memoryMb)),
  };
}

async function measurePace({ url, headers, receiver, pids }, seconds) {
  const pool = new Pool(url, { connections: 8 });
  const before = receiver.arrivals.size;
  const total = perSecond * seconds;
  const sentAtMs = new Map();
  const create = async (i) => {
    const atMs = wallMs();
    const { body } = await pool.request({ method: 'POST', path: '/v1/resources', headers, body: bodyOf(i) });
    sentAtMs.set(JSON.parse(await body.text()).data.id, atMs);
  };
  const { cpu } = await measure(pids, async () => {
    const startedAtMs = performance.now();
    const running = [];
    for (let i = 0; i < total; i++) {
      const dueInMs = startedAtMs + (i * 1_000) / perSecond - performance.now();
      if (dueInMs > 0) await delay(dueInMs);
      running.push(create(i));
    }
    await Promise.all(running);
    await receiver.until(before + total);
  });
  await pool.close();
  const latenciesMs = [...sentAtMs].map(([id, atMs]) => receiver.arrivals.get(id) - atMs);
  return {
    [`${perSecond}/s: publish to receiver p50, ms`]: quantile(latenciesMs, 0.5),
    [`${perSecond}/s: publish to receiver p99, ms`]: quantile(latenciesMs, 0.99),
    [`${perSecond}/s: CPU-s per 1,000`]: (sum(cpu) / total) * 1_000,
  };
}

async function measureReads({ url, headers, receiver, pids }, count) {
  const ids = [...receiver.arrivals.keys()];
  const request = (i) => ({ method: 'GET', path: `/v1/resources/${ids[i % ids.length]}`, headers });
  const { seconds, cpu } = await measure(pids, () =>
    load({ url, connections: publishers, count, expect: 200, request }),
  );
  return { 'GET by ID: CPU-s per 1,000': (sum(cpu) / count) * 1_000, 'GET by ID: requests/s': count / seconds };
}

async function measureIdle({ pids }, seconds) {
  const { cpu } = await measure(pids, () => delay(seconds * 1_000));
  return {
    'idle: % of a core': (sum(cpu) / seconds) * 100,
    'idle: memory, MB': sum(Object.values(pids).map(memoryMb)),
  };
}

/** Returns a figure's medians, and its ratio of the rounds: median and range. */
function row(shape, figure, pairs) {
  const ratios = pairs.map((pair) => pair.new / pair.base);
  return {
    shape,
    figure,
    base: median(pairs.map((pair) => pair.base)),
    new: median(pairs.map((pair) => pair.new)),
    ratio: median(ratios),
    least: Math.min(...ratios),
    most: Math.max(...ratios),
    rounds: pairs.length,
  };
}

/** Returns a body for an event of about 380 bytes. */
function bodyOf(i) {
  return JSON.stringify({ name: `Resource ${i}`, metadata: { note: 'n'.repeat(90) } });
}

/** Current time in milliseconds with microsecond resolution, comparable between processes on the same machine. */
function wallMs() {
  return performance.timeOrigin + performance.now();
}
