import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startContainer } from './container.mjs';
import { findNewestNode } from './newest-node.mjs';
import { installPackages } from './packages.mjs';
import { root } from './prepare.mjs';

/**
 * Servers that test files share. Sources in order of preference: the address in `variable`, a program on this machine
 * (installed with apt-get if missing and if the user is root), a container.
 */
const servers = {
  postgres: {
    variable: 'TEST_DATABASE_URL',
    programs: [],
    // fsync is off, because the data need not survive a crash.
    async start({ startPostgresAt }, folder) {
      const server = await startPostgresAt(folder, { fsync: 'off' });
      return { address: server.url, stop: server.stop };
    },
  },
  redis: {
    variable: 'TEST_REDIS_URL',
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
  kafka: {
    variable: 'TEST_KAFKA_BROKERS',
    programs: ['java', 'mvn'],
    packages: ['default-jre-headless', 'maven'],
    async start({ startKafka }) {
      const server = await startKafka({ brokers: 1 });
      return { address: server.brokers, stop: server.stop };
    },
    container: {
      image: 'apache/kafka:4.3.1',
      port: 9092,
      // The broker advertises its address to clients, so it must know the published port.
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
};

const nativeRedis = 'install redis-server (apt-get install redis-server, brew install redis)';
const nativeKafka = 'install Java 17 and Maven (apt-get install default-jre-headless maven)';

/** Remedy per requirement that describeWith() of the test kit accepts. */
export const remedies = {
  redis: `${nativeRedis}, start Docker, or set TEST_REDIS_URL`,
  kafka: `${nativeKafka}, start Docker, or set TEST_KAFKA_BROKERS`,
  'redis-server': nativeRedis,
  java: nativeKafka,
  chromium: 'apt-get install chromium, or set CHROME_PATH',
  zsh: 'install zsh',
  fish: 'install fish',
  'newest-node': 'connect to a registry of npm packages',
  ipv6: 'enable IPv6 on the loopback interface (::1)',
  'small-disk': 'run as root on Linux, in a container with CAP_SYS_ADMIN (docker run --privileged)',
};

/** Programs that suites start themselves. */
const programs = {
  'redis-server': { programs: ['redis-server'], packages: ['redis-server'] },
  java: { programs: ['java', 'mvn'], packages: ['default-jre-headless', 'maven'] },
  chromium: { programs: ['chromium'], packages: ['chromium', 'fonts-liberation'], given: 'CHROME_PATH' },
  zsh: { programs: ['zsh'], packages: ['zsh'] },
  fish: { programs: ['fish'], packages: ['fish'] },
  'newest-node': { find: findNewestNode },
};

/**
 * Provides servers and programs for the tests, each when the first test file requests it with a file `<name>.request`
 * in `folder`. The reply is a file `<name>.reply` with `{"address": …}` or `{}` (see request() of the test kit).
 * Returns a function that stops the started servers.
 */
export function provideServers(folder) {
  const provided = new Map();
  const scan = () => {
    for (const file of readdirSync(folder)) {
      const name = file.endsWith('.request') ? file.slice(0, -'.request'.length) : undefined;
      if (name === undefined || provided.has(name)) continue;
      provided.set(
        name,
        provide(name, folder).then((result) => {
          process.stderr.write(`rms: ${name}: ${result.source ?? result.failure}\n`);
          const reply = join(folder, `${name}.reply`);
          writeFileSync(`${reply}.part`, JSON.stringify({ address: result.address }));
          renameSync(`${reply}.part`, reply);
          return result;
        }),
      );
    }
  };
  const timer = setInterval(scan, 20);
  return async () => {
    clearInterval(timer);
    const results = await Promise.all(provided.values());
    await Promise.all(results.map(({ stop }) => stop?.()));
  };
}

/** Resolves to `{address, source, stop}`, or to `{failure}`. */
async function provide(name, folder) {
  try {
    return name in programs ? provideProgram(programs[name]) : await provideServer(servers[name], folder);
  } catch (error) {
    return { failure: error.message };
  }
}

function provideProgram({ programs: names, packages, given, find }) {
  if (find) return { address: find(), source: 'installed' };
  if (given && process.env[given]) return { address: '', source: `${given} names it` };
  const failure = installPackages(names, packages);
  return failure ? { failure } : { address: '', source: 'installed' };
}

async function provideServer(server, folder) {
  if (process.env[server.variable])
    return { address: process.env[server.variable], source: `given by ${server.variable}` };
  let failure = server.programs.length > 0 ? installPackages(server.programs, server.packages) : undefined;
  if (!failure) {
    try {
      const testkit = await import(pathToFileURL(join(root, 'packages', 'testkit', 'src', 'index.ts')).href);
      return { ...(await server.start(testkit, folder)), source: 'started for this run' };
    } catch (error) {
      failure = error.message;
    }
  }
  const container = server.container && (await startContainer(server.container));
  return container ? { ...container, source: `${server.container.image} in a container` } : { failure };
}
