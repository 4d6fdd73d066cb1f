import type { Keys } from '@rms/base/secrets';
import type { MetricsAddress } from '@rms/runtime/service';
import { readEncryptionKeys, type Settings } from '@rms/runtime/settings';

export interface ResourcesConfig {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** If undefined, metrics are not exposed. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Keys that authenticate page tokens. They must be the same in every instance. */
  readonly pageTokenKeys: Keys;
  /** Whether audit entries leave out the name and the metadata of resources. */
  readonly eraseOnDelete: boolean;
  readonly topic: string;
  readonly partitions: number;
  readonly replication: number;
}

export function readResourcesConfig(settings: Settings): ResourcesConfig {
  const keys = readEncryptionKeys(settings);
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    pageTokenKeys: keys.derive('resources page tokens'),
    eraseOnDelete: settings.ERASE_ON_DELETE,
    topic: `${settings.KAFKA_PREFIX}.resource-events.v1`,
    partitions: settings.EVENT_PARTITIONS,
    replication: settings.EVENT_REPLICATION,
  };
}
