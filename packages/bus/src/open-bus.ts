import {
  type Logger,
  readTlsFiles,
  requireSettings,
  type Settings,
  SettingsError,
  type TlsOptions,
} from '@rms/service';
import type { EventBus } from './event-bus.ts';
import { createKafkaBus } from './kafka-bus.ts';
import type { KafkaLogin } from './kafka-client.ts';

/** The bus of a service as the settings say. Throws {@link SettingsError}. */
export function openBus(settings: Settings, { name, log }: { name: string; log: Logger }): EventBus {
  requireSettings(settings, 'KAFKA_BROKERS');
  return createKafkaBus({
    brokers: settings.KAFKA_BROKERS,
    clientId: `rms-${name}`,
    tls: tlsOf(settings),
    sasl: loginOf(settings),
    log,
  });
}

function tlsOf(settings: Settings): TlsOptions | undefined {
  const files = readTlsFiles(settings, 'KAFKA');
  if (settings.KAFKA_TLS) return files ?? { minVersion: 'TLSv1.2' };
  if (files) throw new SettingsError('KAFKA_TLS must be true where certificates for Kafka are set');
  return undefined;
}

function loginOf(settings: Settings): KafkaLogin | undefined {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = settings;
  if (mechanism === 'none') return undefined;
  requireSettings(settings, 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD');
  return { mechanism, username, password };
}
