import { execFileSync, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startContainer } from './container.mjs';
import { root } from './prepare.mjs';

/**
 * The servers that the tests need, and where each can come from, best first: an address that is given, a program on this
 * machine (as root on a system with apt-get it is installed), a container.
 */
const servers = [
  {
    name: 'PostgreSQL',
    variable: 'TEST_DATABASE_URL',
    given: ['TEST_DATABASE_URL', 'DATABASE_URL'],
    programs: [],
    // The data need not outlive the machine: fsync only costs time.
    async start({ startPostgres }) {
      const server = await startPostgres({ fsync: 'off' });
      return { address: server.url, stop: server.stop };
    },
  },
  {
    name: 'Redis',
    variable: 'TEST_REDIS_URL',
    given: ['TEST_REDIS_URL', 'REDIS_URL'],
    programs: ['redis-server'],
    packages: ['redis-server'],
    async start({ startRedis }) {
      const server = await startRedis();
      return { address: server.url, stop: server.stop };
    },
    container: {
      image: 'redis:7',
      port: 6379,
      log: 'Ready to accept connections',
      address: (port) => `redis://127.0.0.1:${port}`,
    },
  },
  {
    name: 'Kafka',
    variable: 'TEST_KAFKA_BROKERS',
    given: ['TEST_KAFKA_BROKERS', 'KAFKA_BROKERS'],
    programs: ['java', 'mvn'],
    packages: ['default-jre-headless', 'maven'],
    async start({ startKafka }) {
      const server = await startKafka({ brokers: 1 });
      return { address: server.brokers, stop: server.stop };
    },
    container: {
      image: 'apache/kafka:4.3.1',
      port: 9092,
      // The broker tells its clients where to find it, so it has to know the port outside.
      env: (port) => ({
        KAFKA_NODE_ID: 1,
        KAFKA_PROCESS_ROLES: 'broker,controller',
        KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
        KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
        KAFKA_LISTENERS: 'PLAINTEXT://:9092,CONTROLLER://:9093',
        KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${port}`,
        KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
        KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: 1,
        KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: 1,
        KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: 1,
        KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: 0,
        KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      }),
      log: 'Kafka Server started',
      address: (port) => `127.0.0.1:${port}`,
    },
  },
];

const nativeRedis = 'install redis-server (apt-get install redis-server, brew install redis)';
const nativeKafka = 'install Java 17 and Maven (apt-get install default-jre-headless maven)';

/** What brings what a suite needs, by the names that describeWith() of the test kit takes. */
export const remedies = {
  redis: `${nativeRedis}, start Docker, or set TEST_REDIS_URL`,
  kafka: `${nativeKafka}, start Docker, or set TEST_KAFKA_BROKERS`,
  'redis-server': nativeRedis,
  java: nativeKafka,
  chromium: 'apt-get install chromium, or set CHROME_PATH',
  'small-disk': 'run as root on Linux, in a container with CAP_SYS_ADMIN (docker run --privileged)',
};

/**
 * Brings the servers, all at once. Answers with the environment that says where they are, and how to stop those that
 * were started.
 */
export async function bringServers() {
  // Loaded here: it is there only once the checkout has been built.
  const testkit = await import(pathToFileURL(join(root, 'packages', 'testkit', 'dist', 'index.js')).href);
  for (const server of servers) installPrograms(server);
  const brought = await Promise.all(servers.map((server) => bring(server, testkit)));
  const env = {};
  for (const [i, { address, failure, source }] of brought.entries()) {
    const { name, variable } = servers[i];
    if (address) env[variable] = address;
    process.stderr.write(`rms: ${name}: ${address ? source : failure}\n`);
  }
  return { env, stop: () => Promise.all(brought.map(({ stop }) => stop?.())) };
}

async function bring(server, testkit) {
  const given = server.given.find((name) => process.env[name]);
  if (given) return { address: process.env[given], source: `that of ${given}` };
  let failure = 'there is none';
  if (server.programs.every(isInstalled)) {
    try {
      return { ...(await server.start(testkit)), source: 'started for this run' };
    } catch (error) {
      failure = error.message;
    }
  }
  try {
    const container = server.container && (await startContainer(server.container));
    if (container) return { ...container, source: `${server.container.image} in a container` };
  } catch (error) {
    failure = error.message;
  }
  return { failure };
}

/** Root on a machine with apt-get, a CI runner mostly, gets what is missing. Without success it stays missing. */
function installPrograms({ name, given, programs, packages }) {
  if (given.some((variable) => process.env[variable]) || programs.every(isInstalled)) return;
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) return;
  process.stderr.write(`rms: ${name}: installing ${packages.join(' and ')} by apt-get\n`);
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, stdio: ['ignore', 'pipe', 'pipe'] };
  spawnSync('apt-get', ['update', '-qq'], options);
  try {
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], options);
  } catch (error) {
    process.stderr.write(
      `rms: ${name}: ${String(error.stderr ?? error.message)
        .trim()
        .split('\n')
        .at(-1)}\n`,
    );
  }
}

function isInstalled(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
