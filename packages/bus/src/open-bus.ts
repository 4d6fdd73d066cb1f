import type { Logger } from '@rms/runtime/logging';
import {
  type Followed,
  followSecret,
  followTlsFiles,
  requireSettings,
  type Settings,
  SettingsError,
  type TlsFiles,
} from '@rms/runtime/settings';
import type { EventBus } from './event-bus.ts';
import { createKafkaBus } from './kafka-bus.ts';
import type { KafkaSasl } from './kafka-client.ts';

export interface OpenBusOptions {
  /** Client ID in Kafka. */
  readonly name: string;
  readonly log: Logger;
}

/** Opens the bus on the Kafka cluster named by the settings. Throws SettingsError. */
export function openBus(settings: Settings, { name, log }: OpenBusOptions): EventBus {
  requireSettings(settings, 'KAFKA_BROKERS');
  const tls = tlsOf(settings);
  const sasl = saslOf(settings, log);
  if (sasl?.mechanism === 'plain' && !tls) {
    log.warn('KAFKA_SASL_MECHANISM is plain without KAFKA_TLS: the password is sent unencrypted');
  }
  return createKafkaBus({ brokers: settings.KAFKA_BROKERS, clientId: name, tls: tls && (() => tls(log)), sasl, log });
}

function tlsOf(settings: Settings): Followed<TlsFiles> | undefined {
  if (settings.KAFKA_TLS) return followTlsFiles(settings, 'KAFKA');
  const unused = (['KAFKA_CA_FILE', 'KAFKA_CERT_FILE', 'KAFKA_KEY_FILE'] as const).find(
    (name) => settings[name] !== '',
  );
  if (unused) throw new SettingsError(`${unused} is set, but KAFKA_TLS is not`);
  return undefined;
}

function saslOf(settings: Settings, log: Logger): KafkaSasl | undefined {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = settings;
  if (mechanism !== 'none') {
    requireSettings(settings, 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD');
    const current = followSecret(settings, 'KAFKA_SASL_PASSWORD');
    return { mechanism, username, password: () => current(log) };
  }
  if (username !== '' || password !== '') {
    const name = username === '' ? 'KAFKA_SASL_PASSWORD' : 'KAFKA_SASL_USERNAME';
    throw new SettingsError(`${name} is set, but KAFKA_SASL_MECHANISM is none`);
  }
  return undefined;
}
