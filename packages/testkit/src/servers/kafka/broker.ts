import { execFile } from 'node:child_process';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Program, startProgram } from '../program.ts';
import { kafkaFiles } from './jars.ts';
import { type SecureListeners, scramArguments, secureProperties } from './secure.ts';

export interface BrokerOptions {
  /** 1, 2, 3 … */
  readonly id: number;
  /** Local address that the broker listens on and advertises to clients. */
  readonly host: string;
  readonly port: number;
  /** Controller ports of all brokers, in the order of their IDs. */
  readonly controllerPorts: readonly number[];
  readonly folder: string;
  readonly jars: string;
  readonly secure?: SecureListeners | undefined;
}

/** Cluster ID. All brokers of a cluster must be formatted with the same ID; all test clusters share this ID. */
const clusterId = 'cm1zLXRlc3Qta2Fma2EtMQ';
const java = [
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  `-Dlog4j2.configurationFile=${kafkaFiles}log4j2.properties`,
];

/**
 * Formats a broker's data folder and starts the broker. Start all brokers of a cluster concurrently, because they must
 * form a quorum.
 */
export async function startBroker(options: BrokerOptions): Promise<Program> {
  const { id, folder, jars, secure } = options;
  const properties = join(folder, `broker-${id}.properties`);
  writeFileSync(properties, brokerProperties(options));
  const format = ['format', '--ignore-formatted', '-t', clusterId, '-c', properties];
  if (secure) format.push(...scramArguments(secure));
  await promisify(execFile)('java', [...java, '-Xmx128m', '-cp', `${jars}/*`, 'kafka.tools.StorageTool', ...format]);
  const memory = options.controllerPorts.length > 1 ? ['-Xms128m', '-Xmx256m'] : ['-Xms128m', '-Xmx384m'];
  const program = await startProgram({
    name: `Kafka broker ${id}`,
    command: 'java',
    args: [...java, ...classArchive(jars, id), ...memory, '-cp', `${jars}/*`, 'kafka.Kafka', properties],
    outputFile: join(folder, `broker-${id}.output`),
    ready: (output) => output.includes('Kafka Server started'),
  });
  return program;
}

/**
 * Returns the JVM options for class-data sharing. With an archive of its loaded classes, a broker starts in a third of
 * the time. The first broker that exits normally writes the archive; {@link keepClassArchive} moves it to its final
 * path.
 */
function classArchive(jars: string, id: number): string[] {
  if (existsSync(archiveOf(jars))) return [`-XX:SharedArchiveFile=${archiveOf(jars)}`];
  return id === 1 ? [`-XX:ArchiveClassesAtExit=${newArchiveOf(jars)}`] : [];
}

export function keepClassArchive(jars: string): void {
  if (existsSync(newArchiveOf(jars))) renameSync(newArchiveOf(jars), archiveOf(jars));
}

function archiveOf(jars: string): string {
  return join(jars, 'kafka.jsa');
}

function newArchiveOf(jars: string): string {
  return join(jars, `kafka.${process.pid}.jsa`);
}

function brokerProperties({ id, host, port, controllerPorts, folder, secure }: BrokerOptions): string {
  const brokers = controllerPorts.length;
  const replication = Math.min(3, brokers);
  const inSync = Math.max(1, replication - 1);
  const more = secure && secureProperties(secure, folder);
  const beside = (given?: string) => (given === undefined ? '' : `,${given}`);
  const properties = {
    // Broker and controller in one process, without ZooKeeper.
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': controllerPorts.map((voter, i) => `${i + 1}@127.0.0.1:${voter}`).join(','),
    listeners: `BROKER://${host}:${port},CONTROLLER://127.0.0.1:${controllerPorts[id - 1]}${beside(more?.listeners)}`,
    'advertised.listeners': `BROKER://${host}:${port}${beside(more?.listeners)}`,
    'listener.security.protocol.map': `BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT${beside(more?.protocols)}`,
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': join(folder, `data-${id}`),
    // With three brokers, two replicas must have a write before it is acknowledged.
    'default.replication.factor': replication,
    'min.insync.replicas': inSync,
    'offsets.topic.num.partitions': 4,
    'offsets.topic.replication.factor': replication,
    'transaction.state.log.num.partitions': 4,
    'transaction.state.log.replication.factor': replication,
    'transaction.state.log.min.isr': inSync,
    'auto.create.topics.enable': false,
    // A consumer group does not wait for more consumers to join.
    'group.initial.rebalance.delay.ms': 0,
    // Lets a killed broker rejoin immediately.
    'broker.session.timeout.ms': 2_000,
    'broker.heartbeat.interval.ms': 500,
    // Sized for two processors and a few megabytes of data.
    'num.network.threads': 2,
    'num.io.threads': 4,
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
    'log.segment.bytes': 64 * 1024 * 1024,
    ...more?.properties,
  };
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
