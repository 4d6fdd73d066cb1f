import { startKafka, startNetwork, startPostgres, startRedis } from '@rms/testkit';
import pg from 'pg';

/** Receivers of the benchmarks listen on loopback. Limits are counted but never reached. */
export const openSettings = {
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  RATE_LIMIT_REQUESTS: '1000000000',
  WORKSPACE_RATE_LIMIT_REQUESTS: '1000000000',
  MONTHLY_QUOTA: '1000000000000',
  LOG_LEVEL: 'info',
};

/**
 * Starts every service in a separate process, on new stores, and reports the process id of each.
 * @param postgresSettings override PostgreSQL's defaults
 */
export async function startDistributed(env = {}, postgresSettings = {}) {
  const stores = [];
  const started = async (store) => {
    stores.unshift(await store);
    return stores[0];
  };
  const stopStores = () => Promise.all(stores.map((store) => store.stop()));
  let postgres;
  let redis;
  let kafka;
  let network;
  try {
    postgres = await started(startPostgres(postgresSettings));
    redis = await started(startRedis());
    kafka = await started(startKafka({ brokers: 1 }));
    network = await startNetwork({
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      kafkaBrokers: kafka.brokers,
      env: { ...openSettings, ...env },
    });
  } catch (error) {
    await stopStores();
    throw error;
  }
  const pidOf = (name) => network.services[name].pid;
  return {
    ...network,
    pids: {
      gateway: pidOf('gateway'),
      auth: pidOf('auth'),
      resources: pidOf('resources'),
      alerts: pidOf('alerts'),
      webhooks: pidOf('webhooks'),
      postgres: postgres.pid,
      redis: redis.pid,
      kafka: kafka.pids[0],
    },
    /** Updates the planner statistics after a warm-up, as in a database that has run for a minute. */
    async analyze(url = network.env.DATABASE_URL) {
      await query(url, 'vacuum analyze');
    },
    /** Creates an empty database next to the services' one. */
    async createDatabase() {
      await query(postgres.url, 'create database baseline');
      const url = new URL(postgres.url);
      url.pathname = '/baseline';
      return url.href;
    },
    async stop() {
      await network.stop();
      await stopStores();
    },
  };
}

async function query(url, sql) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
