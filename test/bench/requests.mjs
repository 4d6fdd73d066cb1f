import { startBaseline } from './baseline/start.mjs';
import { startDistributed } from './distributed.mjs';
import { load } from './load.mjs';
import { measure, median, sum } from './processes.mjs';

const connections = 32;
const metadata = { color: 'red', size: 'large', owner: 'team-a' };

/**
 * Measures POST and GET by id through all services against one Express process on the same PostgreSQL, in alternating
 * rounds.
 */
export async function run({ quick }) {
  const rounds = quick ? 2 : 4;
  const count = quick ? 2_000 : 6_000;
  const shape = await startDistributed();
  const baselineUrl = await shape.createDatabase();
  const baseline = await startBaseline(baselineUrl);
  try {
    const { key } = await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'write', '--name', 'bench');
    const contenders = {
      rms: { url: shape.liveUrl, pids: shape.pids, headers: { authorization: `Bearer ${key}` } },
      baseline: { url: baseline.url, pids: { baseline: baseline.pid, postgres: shape.pids.postgres }, headers: {} },
    };
    const samples = { rms: { post: [], get: [] }, baseline: { post: [], get: [] } };
    for (const contender of Object.values(contenders)) await measureRound(contender, quick ? 3_000 : 10_000);
    await shape.analyze();
    await shape.analyze(baselineUrl);
    for (let round = 0; round < rounds; round++) {
      for (const [name, contender] of Object.entries(contenders)) {
        const { post, get } = await measureRound(contender, count);
        samples[name].post.push(post);
        samples[name].get.push(get);
      }
    }
    return report(samples);
  } finally {
    await baseline.stop();
    await shape.stop();
  }
}

async function measureRound({ url, pids, headers }, count) {
  const post = await measure(pids, () =>
    load({
      url,
      connections,
      count,
      expect: 201,
      request: (i) => ({
        method: 'POST',
        path: '/v1/resources',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ name: `Resource ${i}`, metadata }),
      }),
    }),
  );
  const ids = post.result.bodies.map((body) => JSON.parse(body).data.id);
  const get = await measure(pids, () =>
    load({
      url,
      connections,
      count,
      expect: 200,
      request: (i) => ({ method: 'GET', path: `/v1/resources/${ids[i % ids.length]}`, headers }),
    }),
  );
  return { post: perThousand(post, count), get: perThousand(get, count) };
}

function perThousand({ seconds, cpu }, count) {
  const scaled = Object.fromEntries(Object.entries(cpu).map(([name, value]) => [name, (value / count) * 1_000]));
  return { perSecond: count / seconds, cpu: scaled, total: sum(scaled) };
}

function report(samples) {
  const rows = [];
  const goals = [];
  for (const verb of ['post', 'get']) {
    for (const name of ['rms', 'baseline']) {
      const taken = samples[name][verb];
      const parts = Object.keys(taken[0].cpu).map((part) => [part, median(taken.map(({ cpu }) => cpu[part]))]);
      rows.push({
        what: `${verb.toUpperCase()} ${name}`,
        'requests/s': Math.round(median(taken.map(({ perSecond }) => perSecond))),
        'CPU-s/1000': median(taken.map(({ total }) => total)),
        ...Object.fromEntries(parts),
      });
    }
    const ratios = samples.rms[verb].map(({ total }, i) => total / samples.baseline[verb][i].total);
    const speeds = samples.rms[verb].map(({ perSecond }, i) => perSecond / samples.baseline[verb][i].perSecond);
    goals.push(
      {
        goal: `${verb.toUpperCase()} CPU, all processes and stores, ratio ≤ 1.0`,
        measured: median(ratios),
        met: median(ratios) <= 1,
      },
      { goal: `${verb.toUpperCase()} requests/s, ratio`, measured: median(speeds), met: true },
    );
  }
  return { about: `${connections} connections, CPU-seconds per 1,000 requests by process`, rows, goals };
}
