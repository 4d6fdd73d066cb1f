import { freePort } from '../../free-port.ts';
import type { Program } from '../program.ts';
import { inTemporaryFolder, type TemporaryFolder } from '../temporary-folder.ts';
import { keepClassArchive, startBroker } from './broker.ts';
import { kafkaJars } from './jars.ts';
import type { KafkaSecurity } from './secure.ts';

/** A Kafka of a test's own, whose brokers it may kill. Their data outlive a kill. */
export interface Kafka {
  /** "host:port,host:port" of all brokers, as KAFKA_BROKERS takes it. */
  readonly brokers: string;
  /** Of the first broker, by TLS with a password, and by TLS to client certificates; both undefined without `secure`. */
  readonly saslBroker: string | undefined;
  readonly mutualBroker: string | undefined;
  /** Of the brokers, in their order. */
  readonly pids: readonly number[];
  /** kill -9 of one broker, counted from 0. */
  kill(broker: number): Promise<void>;
  restart(broker: number): Promise<void>;
  pause(broker: number): void;
  resume(broker: number): void;
  stop(): Promise<void>;
}

export interface KafkaOptions {
  /** One, or three that replicate and acknowledge a write when two have it. */
  readonly brokers: 1 | 3;
  /** Address of this machine where clients reach them; default: loopback. */
  readonly host?: string;
  /** The first broker listens by TLS as well. */
  readonly secure?: KafkaSecurity;
}

/** Needs Java 17 and Maven. */
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
    if (!program) throw new Error(`there are ${count} brokers, counted from 0`);
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
        // The last of a quorum would wait for the others before it ends.
        await Promise.all(programs.map((program) => program.kill()));
      }
      folder.remove();
    },
  };
}
