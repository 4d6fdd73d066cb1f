import { deriveKey, readMasterKey } from '@rms/secrets';
import { type MetricsAddress, requireSettings, type Settings, SettingsError } from '@rms/service';

export interface ResourcesConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Authenticates page tokens; 32 bytes, the same at every instance. */
  readonly pageTokenKey: Buffer;
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
    pageTokenKey: deriveKey(masterKey(settings), 'resources page tokens'),
    topic: `${settings.KAFKA_PREFIX}.resource-events.v1`,
    partitions: settings.EVENT_PARTITIONS,
    replication: settings.EVENT_REPLICATION,
  };
}

function masterKey({ ENCRYPTION_KEY }: Settings): Buffer {
  try {
    return readMasterKey(ENCRYPTION_KEY);
  } catch (error) {
    throw new SettingsError((error as Error).message);
  }
}
