import { deriveKeys, type KeyRing, readKeyRing } from '@rms/secrets';
import { type MetricsAddress, requireSettings, type Settings, SettingsError } from '@rms/service';

export interface ResourcesConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Authenticate page tokens; the same at every instance. */
  readonly pageTokenKeys: KeyRing;
  readonly topic: string;
  readonly partitions: number;
  readonly replication: number;
}

export function readResourcesConfig(settings: Settings): ResourcesConfig {
  requireSettings(settings, 'ENCRYPTION_KEY');
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    pageTokenKeys: deriveKeys(keyRing(settings), 'resources page tokens'),
    topic: `${settings.KAFKA_PREFIX}.resource-events.v1`,
    partitions: settings.EVENT_PARTITIONS,
    replication: settings.EVENT_REPLICATION,
  };
}

function keyRing(settings: Settings): KeyRing {
  try {
    return readKeyRing(settings);
  } catch (error) {
    throw new SettingsError((error as Error).message);
  }
}
