import { type Keys, readKeyRing } from '@rms/secrets';
import { type MetricsAddress, orSettingsError, requireSettings, type Settings } from '@rms/service';

export interface ResourcesConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Authenticate page tokens; the same at every instance. */
  readonly pageTokenKeys: Keys;
  readonly topic: string;
  readonly partitions: number;
  readonly replication: number;
}

export function readResourcesConfig(settings: Settings): ResourcesConfig {
  requireSettings(settings, 'ENCRYPTION_KEY');
  const ring = orSettingsError(() => readKeyRing(settings.ENCRYPTION_KEY, settings.ENCRYPTION_KEY_PREVIOUS));
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    pageTokenKeys: ring.derive('resources page tokens'),
    topic: `${settings.KAFKA_PREFIX}.resource-events.v1`,
    partitions: settings.EVENT_PARTITIONS,
    replication: settings.EVENT_REPLICATION,
  };
}
