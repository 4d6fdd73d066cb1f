import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import {
  type Certificates,
  describeWith,
  type Kafka,
  makeCertificates,
  startKafka,
  suiteFolder,
  waitUntil,
} from '@rms/testkit';
import { type EventBus, openBus } from '../../src/index.ts';
import { record, text } from '../conformance.ts';

const never = new AbortController().signal;

// Uses its own broker with additional listeners. If the shared Kafka is available, this machine can run a broker.
describeWith('kafka', 'the Kafka bus with TLS and passwords', () => {
  const folder = suiteFolder('kafka-tls');
  let trusted: Certificates;
  let untrusted: Certificates;
  let kafka: Kafka;
  let buses: EventBus[] = [];
  let lines: string[] = [];

  beforeAll(async () => {
    trusted = makeCertificates(join(folder, 'ours'));
    untrusted = makeCertificates(join(folder, 'strangers'));
    const certificate = trusted.issue('kafka', { sans: ['127.0.0.1'] });
    const user = { username: 'rms', password: 'of-rms' };
    kafka = await startKafka({ brokers: 1, secure: { caFile: trusted.caFile, ...certificate, ...user } });
  });
  afterEach(async () => {
    await Promise.all(buses.map((bus) => bus.stop()));
    buses = [];
    lines = [];
  });
  afterAll(() => kafka?.stop());

  const open = (env: NodeJS.ProcessEnv, into = lines) => {
    const log = createLogger({ name: 'bus', level: 'trace', destination: { write: (line) => void into.push(line) } });
    const bus = openBus(readSettings(env), { name: 'test', log });
    buses.push(bus);
    return bus;
  };
  const withTls = (files: NodeJS.ProcessEnv = {}) => ({
    KAFKA_BROKERS: kafka.mutualBroker,
    KAFKA_TLS: 'true',
    KAFKA_CA_FILE: trusted.caFile,
    ...files,
  });
  const withPassword = (mechanism: string, KAFKA_SASL_PASSWORD = 'of-rms') => ({
    ...withTls({ KAFKA_BROKERS: kafka.saslBroker }),
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: 'rms',
    KAFKA_SASL_PASSWORD,
  });
  const clientFiles = (certificates: Certificates) => {
    const { certFile, keyFile } = certificates.issue('client');
    return { KAFKA_CERT_FILE: certFile, KAFKA_KEY_FILE: keyFile };
  };
  /** Sends a record through a topic. */
  const works = async (bus: EventBus, topic: string) => {
    await bus.start([{ topic, partitions: 1 }]);
    expect(await bus.healthy()).toBe(true);
    await bus.publish({ topic, partition: 0, records: [record('hello')] }, never);
    const seen: string[] = [];
    const stop = new AbortController();
    const onBatch = async (records: readonly Parameters<typeof text>[0][]) => void seen.push(...records.map(text));
    // The first group of a broker may fail while the broker loads its coordinator. Services consume again, too.
    const consume = async () => {
      while (!stop.signal.aborted) await bus.consume({ topic, group: topic, onBatch }, stop.signal).catch(() => {});
    };
    const consuming = consume();
    await waitUntil(() => seen.length > 0, { what: 'the record' });
    stop.abort();
    await consuming;
    expect(seen).toEqual(['hello']);
  };
  const warningsIn = (written: string[]) =>
    written.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
  /** Expects the bus to behave as if Kafka were unreachable, to keep trying, and to log each reason once. */
  const isRefused = async (env: NodeJS.ProcessEnv, reason: RegExp) => {
    const written: string[] = [];
    const bus = open(env, written);
    const starting = bus.start([{ topic: 'rms.refused', partitions: 1 }]);
    const tries = () => written.filter((line) => line.includes('kafkajs') && reason.test(line)).length;
    await waitUntil(() => tries() >= 4, { what: 'the bus to retry' });
    await waitUntil(() => warningsIn(written).length > 0, { what: 'a warning' });
    expect(await bus.healthy()).toBe(false);
    const warnings = warningsIn(written);
    for (const { msg, err } of warnings) {
      expect([msg, err.message]).toEqual(['cannot use Kafka yet; retrying', expect.stringMatching(reason)]);
    }
    expect(new Set(warnings.map(({ err }) => err.message)).size).toBe(warnings.length);
    await Promise.allSettled([starting, bus.stop()]);
    return written.join('');
  };

  test.each(['plain', 'scram-sha-256', 'scram-sha-512'])(
    '%s: records are published and consumed',
    async (mechanism) => {
      await works(open(withPassword(mechanism)), `rms.${mechanism}`);
      expect(lines.join('')).not.toContain('of-rms');
    },
    60_000,
  );

  test.each(['plain', 'scram-sha-512'])(
    '%s, a wrong password: rejected, and the password is not logged',
    async (name) => {
      const written = await isRefused(withPassword(name, 'hunter2'), /SASL .* authentication failed/i);
      expect(written).not.toContain('hunter2');
      expect(written).not.toContain(Buffer.from('\0rms\0hunter2').toString('base64'));
    },
    60_000,
  );

  test.each(['plain', 'scram-sha-512'])(
    '%s: new connections use the current KAFKA_SASL_PASSWORD_FILE and KAFKA_CA_FILE',
    async (mechanism) => {
      const [passwordFile, caFile] = [join(folder, 'password'), join(folder, 'followed-ca.pem')];
      writeFileSync(passwordFile, 'hunter2');
      copyFileSync(untrusted.caFile, caFile);
      const topic = `rms.followed-${mechanism}`;
      const files = { KAFKA_SASL_PASSWORD_FILE: passwordFile, KAFKA_CA_FILE: caFile };
      const bus = open({ ...withPassword(mechanism, ''), ...files });
      const starting = bus.start([{ topic, partitions: 1 }]);
      const hasLogged = (reason: RegExp) => waitUntil(() => reason.test(lines.join('')), { what: `${reason}` });
      await hasLogged(/self-signed certificate|unable to verify/);
      copyFileSync(trusted.caFile, caFile);
      await hasLogged(/SASL .* authentication failed/i);
      writeFileSync(passwordFile, 'of-rms');
      await starting;
      await waitUntil(() => bus.healthy(), { what: 'the new password to be used' });
      await works(bus, topic);
      expect(lines.join('')).not.toMatch(/hunter2|of-rms/);
    },
  );

  test('a broker that requires client certificates accepts a valid certificate', async () => {
    await works(open(withTls(clientFiles(trusted))), 'rms.mutual');
  });

  test('a broker or a client with an untrusted certificate: rejected', async () => {
    const byPassword = withPassword('plain');
    const notOurs = /self-signed certificate|unable to verify/;
    const elsewhere = kafka.saslBroker?.replace('127.0.0.1', 'localhost');
    const byBroker = /certificate|ECONNRESET|closed|(?:dis|not )connected/i;
    await Promise.all([
      isRefused({ ...byPassword, KAFKA_CA_FILE: untrusted.caFile }, notOurs),
      isRefused({ ...byPassword, KAFKA_CA_FILE: '' }, notOurs),
      isRefused({ ...byPassword, KAFKA_BROKERS: elsewhere }, /does not match certificate's altnames/),
      isRefused(withTls(), byBroker),
      isRefused(withTls(clientFiles(untrusted)), byBroker),
    ]);
  });

  test('contradictory settings are rejected', () => {
    const KAFKA_BROKERS = 'kafka.example:9092';
    expect(() => open({ KAFKA_BROKERS, KAFKA_CA_FILE: trusted.caFile })).toThrow(
      'KAFKA_CA_FILE is set, but KAFKA_TLS is not',
    );
    expect(() => open({ ...withPassword('plain', ''), KAFKA_SASL_USERNAME: '' })).toThrow(
      'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD must be set',
    );
    expect(() => open({ ...withPassword('none') })).toThrow(
      'KAFKA_SASL_USERNAME is set, but KAFKA_SASL_MECHANISM is none',
    );
  });

  test('sending a password unencrypted logs a warning', () => {
    open({ ...withPassword('plain'), KAFKA_TLS: '', KAFKA_CA_FILE: '' });
    expect(warningsIn(lines)).toMatchObject([{ msg: expect.stringMatching(/is sent unencrypted/) }]);
  });
});
