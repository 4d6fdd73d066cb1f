import type { Logger } from '@rms/logging';
import { clientTls, type TlsFiles } from '@rms/settings';
import { Kafka, type LogEntry, logLevel, type SASLOptions } from 'kafkajs';
import { stopIdleTimers } from './kafka-idle.ts';

export interface KafkaBusOptions {
  /** "host:port" of each broker. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Enables TLS and verification of the brokers' host names. Without a CA, the public CAs are trusted. */
  readonly tls?: TlsFiles | undefined;
  readonly sasl?: KafkaSasl | undefined;
  readonly log: Logger;
}

export interface KafkaSasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
}

/** Must be longer than the longest time for which a request lets the broker wait. */
const requestTimeoutMs = 10_000;

/**
 * Creates a kafkajs client with short timeouts, logging at debug level, and enough retries to survive a broker restart.
 */
export function createKafkaClient({ brokers, clientId, tls, sasl, log }: KafkaBusOptions): Kafka {
  stopIdleTimers();
  return new Kafka({
    clientId,
    brokers: [...brokers],
    ...(tls && { ssl: clientTls(tls) }),
    ...(sasl && { sasl: { ...sasl } as SASLOptions }),
    connectionTimeout: 2_000,
    requestTimeout: requestTimeoutMs,
    retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: 5 },
    logLevel: logLevel.WARN,
    // Callers report the failures that matter; kafkajs repeats each failure on several levels.
    logCreator: () => (entry) => log.debug({ kafkajs: withoutNoise(entry) }, entry.log.message),
  });
}

function withoutNoise({ namespace, log }: LogEntry) {
  const { message, timestamp, stack, logger, ...fields } = log;
  return { namespace, ...fields };
}
