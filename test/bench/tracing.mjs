import { startKafka, startNetwork, startOtlpCollector, startPostgres, startRedis } from '@rms/testkit';
import { openSettings } from './distributed.mjs';
import { load } from './load.mjs';
import { measure, median, sum } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const connections = 32;
const services = ['gateway', 'auth', 'resources', 'webhooks'];

/**
 * Measures the request log's cost and of tracing: the same services on the same stores, with the collector in a
 * separate process, in alternating rounds. Of the stores, only PostgreSQL counts, because only the measured services
 * use it; the collector does not count.
 */
export async function run({ quick }) {
  const rounds = quick ? 2 : 5;
  const count = quick ? 1_500 : 5_000;
  const stops = [];
  const started = async (starting) => {
    const one = await starting;
    stops.unshift(() => one.stop());
    return one;
  };
  try {
    const postgres = await started(startPostgres());
    const redis = await started(startRedis());
    const kafka = await started(startKafka({ brokers: 1 }));
    const collector = await started(startOtlpCollector({ keep: false }));
    const receiver = await started(startBenchReceiver());
    const exported = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.env.http.OTEL_EXPORTER_OTLP_ENDPOINT,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    };
    const settings = {
      'no request log': { REQUEST_LOG: 'none' },
      'not traced': {},
      'traced, 1 %': { ...exported, OTEL_TRACES_SAMPLER_ARG: '0.01' },
      'traced, 100 %': { ...exported, OTEL_TRACES_SAMPLER_ARG: '1' },
    };
    const contenders = {};
    for (const [name, env] of Object.entries(settings)) {
      const network = await started(
        startNetwork({
          databaseUrl: postgres.url,
          redisUrl: redis.url,
          kafkaBrokers: kafka.brokers,
          env: { ...openSettings, ...env },
        }),
      );
      const { key } = await network.rms(
        'keys',
        'create',
        '--environment',
        'live',
        '--scope',
        'admin',
        '--name',
        'bench',
      );
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      await createWebhook(network.liveUrl, headers, receiver.url);
      contenders[name] = {
        url: network.liveUrl,
        headers,
        pids: {
          ...Object.fromEntries(services.map((one) => [one, network.services[one].pid])),
          postgres: postgres.pid,
        },
      };
    }
    const samples = Object.fromEntries(Object.keys(contenders).map((name) => [name, { post: [], get: [] }]));
    for (const contender of Object.values(contenders)) await measureRound(contender, receiver, quick ? 1_000 : 4_000);
    for (let round = 0; round < rounds; round++) {
      for (const [name, contender] of Object.entries(contenders)) {
        const { post, get } = await measureRound(contender, receiver, count);
        samples[name].post.push(post);
        samples[name].get.push(get);
      }
    }
    return report(samples, await collector.count());
  } finally {
    for (const stop of stops) await stop();
  }
}

/** Runs a round of creates until the delivery of each has arrived, then a round of reads. */
async function measureRound({ url, headers, pids }, receiver, count) {
  const before = receiver.arrivals.size;
  const post = await measure(pids, async () => {
    const created = await load({
      url,
      connections,
      count,
      expect: 201,
      request: (i) => ({
        method: 'POST',
        path: '/v1/resources',
        headers,
        body: JSON.stringify({ name: `Resource ${i}` }),
      }),
    });
    await receiver.until(before + count);
    return created;
  });
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

function perThousand({ cpu }, count) {
  const scaled = Object.fromEntries(Object.entries(cpu).map(([name, value]) => [name, (value / count) * 1_000]));
  return { cpu: scaled, total: sum(scaled) };
}

function report(samples, spans) {
  const rows = [];
  for (const verb of ['post', 'get']) {
    for (const [name, taken] of Object.entries(samples)) {
      const parts = Object.keys(taken[verb][0].cpu).map((part) => [
        part,
        median(taken[verb].map(({ cpu }) => cpu[part])),
      ]);
      rows.push({
        what: `${verb === 'post' ? 'POST and its delivery' : 'GET'}, ${name}`,
        'CPU-s/1000': median(taken[verb].map(({ total }) => total)),
        ...Object.fromEntries(parts),
      });
    }
  }
  const ratio = (verb, name, to) =>
    median(samples[name][verb].map(({ total }, round) => total / samples[to][verb][round].total));
  const goals = [];
  const goal = (text, measured, limit) =>
    goals.push({ goal: `${text}, ratio ≤ ${limit}`, measured, met: measured <= limit });
  for (const verb of ['post', 'get']) {
    const what = verb === 'post' ? 'POST and its delivery' : 'GET';
    goal(`${what}: request log`, ratio(verb, 'not traced', 'no request log'), 1.1);
    goal(`${what}: tracing at 1 %`, ratio(verb, 'traced, 1 %', 'not traced'), 1.15);
    goal(`${what}: tracing at 100 %`, ratio(verb, 'traced, 100 %', 'not traced'), 2);
  }
  return {
    about: `${connections} connections, CPU-seconds per 1,000 requests by process; ${spans} spans received`,
    rows,
    goals,
  };
}
