import { clientTls, type Logger, type TlsFiles } from '@rms/service';
import { Kafka, type LogEntry, logLevel, type SASLOptions } from 'kafkajs';
import './kafka-idle.ts';

export interface KafkaBusOptions {
  /** "host:port" each. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Given: connections are TLS, and each broker proves that it is its host. Without a CA the public ones count. */
  readonly tls?: TlsFiles | undefined;
  readonly sasl?: KafkaSasl | undefined;
  readonly log: Logger;
}

export interface KafkaSasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
}

/** Must be longer than any wait that a request asks of the broker. */
const requestTimeoutMs = 10_000;

/** kafkajs with short timeouts, its own voice turned down, and the retries that ride out a broker's restart. */
export function createKafkaClient({ brokers, clientId, tls, sasl, log }: KafkaBusOptions): Kafka {
  return new Kafka({
    clientId,
    brokers: [...brokers],
    ...(tls && { ssl: clientTls(tls) }),
    ...(sasl && { sasl: { ...sasl } as SASLOptions }),
    connectionTimeout: 2_000,
    requestTimeout: requestTimeoutMs,
    retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: 5 },
    logLevel: logLevel.WARN,
    // What matters is reported by whoever calls: kafkajs repeats each failure on several levels.
    logCreator: () => (entry) => log.debug({ kafkajs: withoutNoise(entry) }, entry.log.message),
  });
}

function withoutNoise({ namespace, log }: LogEntry) {
  const { message, timestamp, stack, logger, ...fields } = log;
  return { namespace, ...fields };
}
