import type { Socket } from 'node:net';
import { connect, PendingSocket } from '@rms/net/dial';
import type { Logger } from '@rms/runtime/logging';
import { type Current, clientTls, currentOf, type TlsFiles } from '@rms/runtime/settings';
import { type ISocketFactory, Kafka, type LogEntry, logLevel, type SASLOptions } from 'kafkajs';
import { installCodecs } from './kafka-codecs.ts';
import { stopIdleTimers } from './kafka-idle.ts';

export interface KafkaBusOptions {
  /** "host:port" of each broker. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Enables TLS and verification of the brokers' host names. Without a CA, the public CAs are trusted. */
  readonly tls?: Current<TlsFiles> | undefined;
  readonly sasl?: KafkaSasl | undefined;
  readonly log: Logger;
}

export interface KafkaSasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: Current<string>;
}

/** Must be longer than the longest `maxWaitTime` of a fetch. */
const requestTimeoutMs = 10_000;
const connectTimeoutMs = 2_000;
const keepAliveMs = 60_000;
/** Logged by kafkajs when a group's offset is no longer in the partition; there is no event for it. */
const outOfRange = 'Offset out of range, resetting to default offset';

/**
 * Creates a kafkajs client with short timeouts, logging at debug level, and enough retries to survive a broker restart.
 */
export function createKafkaClient(
  { brokers, clientId, tls, sasl, log }: KafkaBusOptions,
  /** Whether a group reports its losses itself. */
  reportsLosses: (group: string) => boolean = () => false,
): Kafka {
  stopIdleTimers();
  installCodecs();
  return new Kafka({
    clientId,
    brokers: [...brokers],
    ...(tls && { ssl: true }),
    socketFactory: openSockets(tls),
    ...(sasl && { sasl: currentSasl(sasl) }),
    connectionTimeout: connectTimeoutMs,
    requestTimeout: requestTimeoutMs,
    retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: 5 },
    logLevel: logLevel.WARN,
    // Callers report the failures that matter; kafkajs repeats each failure on several levels.
    logCreator: () => (entry) => {
      const { message, topic, partition, groupId: group } = entry.log;
      log.debug({ kafkajs: withoutNoise(entry) }, message);
      if (message === outOfRange && !reportsLosses(String(group))) {
        log.error(
          { topic, partition, group },
          'records were deleted before the group consumed them; continuing with the oldest record of the partition',
        );
      }
    },
  });
}

/** Opens sockets with the current TLS files. kafkajs needs the socket object before the socket is open. */
function openSockets(tls: Current<TlsFiles> | undefined): ISocketFactory {
  return ({ host, port, onConnect }) => {
    const pending = new PendingSocket(async (signal) => {
      const files = tls && clientTls(currentOf(tls));
      const socket = await connect({
        host,
        port,
        timeoutMs: connectTimeoutMs,
        signal,
        tls: files,
        caSetting: 'KAFKA_CA_FILE',
      });
      return socket.setKeepAlive(true, keepAliveMs);
    });
    return pending.once('open', onConnect) as unknown as Socket;
  };
}

/** Returns options with a getter, because kafkajs reads the password at every authentication. */
function currentSasl({ mechanism, username, password }: KafkaSasl): SASLOptions {
  return {
    mechanism,
    username,
    get password() {
      return currentOf(password);
    },
  } as SASLOptions;
}

function withoutNoise({ namespace, log }: LogEntry) {
  const { message, timestamp, stack, logger, ...fields } = log;
  return { namespace, ...fields };
}
