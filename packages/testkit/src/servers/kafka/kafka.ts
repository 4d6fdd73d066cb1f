import { freePort } from '../../free-port.ts';
import type { Program } from '../program.ts';
import { inTemporaryFolder, type TemporaryFolder } from '../temporary-folder.ts';
import { keepClassArchive, startBroker } from './broker.ts';
import { kafkaJars } from './jars.ts';
import type { KafkaSecurity } from './secure.ts';

/** A Kafka cluster owned by a test, which may kill its brokers. Data survive a kill. */
export interface Kafka {
  /** Addresses of all brokers, in the format of KAFKA_BROKERS. */
  readonly brokers: string;
  /** TLS listeners of the first broker, with SASL and with client certificates; undefined without `secure`. */
  readonly saslBroker: string | undefined;
  readonly mutualBroker: string | undefined;
  /** Process IDs of the brokers, in order. */
  readonly pids: readonly number[];
  /** Kills one broker with SIGKILL; `broker` counts from 0. */
  kill(broker: number): Promise<void>;
  restart(broker: number): Promise<void>;
  pause(broker: number): void;
  resume(broker: number): void;
  stop(): Promise<void>;
}

export interface KafkaOptions {
  /** One broker, or three brokers that replicate and acknowledge a write when two replicas have it. */
  readonly brokers: 1 | 3;
  /** Local address for clients; default: loopback. */
  readonly host?: string;
  /** Adds TLS listeners to the first broker. */
  readonly secure?: KafkaSecurity;
}

/** Starts Kafka. Requires Java 17 and Maven. */
export async function startKafka(options: KafkaOptions): Promise<Kafka> {
  const jars = await kafkaJars();
  return inTemporaryFolder('kafka', (folder) => startIn(folder, jars, options));
}

async function startIn(folder: TemporaryFolder, jars: string, options: KafkaOptions): Promise<Kafka> {
  const { brokers: count, host = '127.0.0.1' } = options;
  const secure = options.secure && {
    ...options.secure,
    saslPort: await freePort(),
    mutualPort: await freePort(),
  };
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const controllerPorts = await Promise.all(Array.from({ length: count }, freePort));
  const started = await Promise.allSettled(
    ports.map((port, i) =>
      startBroker({
        id: i + 1,
        host,
        port,
        controllerPorts,
        folder: folder.path,
        jars,
        secure: i === 0 ? secure : undefined,
      }),
    ),
  );
  const programs = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = started.find((result) => result.status === 'rejected');
  if (failed) {
    await Promise.all(programs.map((program) => program.kill()));
    throw failed.reason;
  }
  const broker = (i: number): Program => {
    const program = programs[i];
    if (!program) throw new Error(`broker ${i} does not exist: there are ${count} brokers, counted from 0`);
    return program;
  };
  return {
    brokers: ports.map((port) => `${host}:${port}`).join(','),
    saslBroker: secure && `127.0.0.1:${secure.saslPort}`,
    mutualBroker: secure && `127.0.0.1:${secure.mutualPort}`,
    get pids() {
      return programs.map(({ pid }) => pid);
    },
    kill: (i) => broker(i).kill(),
    restart: (i) => broker(i).restart(),
    pause: (i) => broker(i).pause(),
    resume: (i) => broker(i).resume(),
    async stop() {
      if (count === 1) {
        await broker(0).terminate();
        keepClassArchive(jars);
      } else {
        // The last broker of a quorum would wait for the others before it exits.
        await Promise.all(programs.map((program) => program.kill()));
      }
      folder.remove();
    },
  };
}
