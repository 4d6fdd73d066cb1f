import { type Kafka, type PostgresServer, type RedisServer, startKafka, startPostgres, startRedis } from '@rms/testkit';

/** Addresses of the stores, as pods reach them. */
export interface Stores {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly kafkaBrokers: string;
  stop(): Promise<void>;
}

/**
 * Returns the given stores (TEST_DATABASE_URL, TEST_REDIS_URL, TEST_KAFKA_BROKERS: as pods reach them), or starts
 * stores on the address of this machine that pods can reach (TEST_HOST_ADDRESS).
 */
export async function openStores(env: NodeJS.ProcessEnv): Promise<Stores> {
  const { TEST_DATABASE_URL, TEST_REDIS_URL, TEST_KAFKA_BROKERS, TEST_HOST_ADDRESS: host } = env;
  if (TEST_DATABASE_URL && TEST_REDIS_URL && TEST_KAFKA_BROKERS) {
    return {
      databaseUrl: TEST_DATABASE_URL,
      redisUrl: TEST_REDIS_URL,
      kafkaBrokers: TEST_KAFKA_BROKERS,
      async stop() {},
    };
  }
  if (!host) {
    throw new Error(
      'No stores for the pods. Set TEST_DATABASE_URL, TEST_REDIS_URL and TEST_KAFKA_BROKERS, or set ' +
        'TEST_HOST_ADDRESS to an address of this machine that pods can reach, to start stores here.',
    );
  }
  return startStores(host);
}

async function startStores(host: string): Promise<Stores> {
  const started = await Promise.allSettled([
    startPostgres(
      { fsync: 'off', listen_addresses: `127.0.0.1,${host}` },
      { accessRules: 'host all all all scram-sha-256\n' },
    ),
    startRedis({ bind: `127.0.0.1 ${host}`, 'protected-mode': 'no' }),
    startKafka({ brokers: 1, host }),
  ] as const);
  const stop = async () => {
    const servers: PromiseSettledResult<PostgresServer | RedisServer | Kafka>[] = [...started];
    await Promise.all(servers.map((server) => (server.status === 'fulfilled' ? server.value.stop() : undefined)));
  };
  const [postgres, redis, kafka] = started;
  if (postgres.status === 'rejected' || redis.status === 'rejected' || kafka.status === 'rejected') {
    await stop();
    throw started.find((server) => server.status === 'rejected')?.reason;
  }
  const reached = (url: string) => url.replace('127.0.0.1', host);
  return {
    databaseUrl: reached(postgres.value.url),
    redisUrl: reached(redis.value.url),
    kafkaBrokers: kafka.value.brokers,
    stop,
  };
}
