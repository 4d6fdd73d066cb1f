import { deriveKeys, type KeyRing, readKeyRing } from '@rms/secrets';
import { type MetricsAddress, requireSettings, type Settings, SettingsError } from '@rms/service';
import { parseCidr } from './egress/addresses.ts';

export interface WebhooksConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Seal secrets. */
  readonly secretKeys: KeyRing;
  /** Authenticate page tokens. */
  readonly pageTokenKeys: KeyRing;
  readonly topic: string;
  /** The consumer group that all instances share. */
  readonly group: string;
  readonly partitions: number;
  readonly replication: number;
  readonly egress: EgressConfig;
  readonly eraseOnDelete: boolean;
  /** Take over what another instance has leased, at the start: right only where there is no other instance. */
  readonly releaseLeases: boolean;
}

/** Where webhooks may call. */
export interface EgressConfig {
  readonly allowHttp: boolean;
  /** Networks that are allowed though they are not public. */
  readonly allowCidrs: readonly string[];
}

export function readWebhooksConfig(settings: Settings): WebhooksConfig {
  requireSettings(settings, 'ENCRYPTION_KEY');
  const keys = orSettingsError('', () => readKeyRing(settings));
  for (const cidr of settings.WEBHOOK_ALLOW_CIDRS) orSettingsError('WEBHOOK_ALLOW_CIDRS: ', () => parseCidr(cidr));
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    secretKeys: deriveKeys(keys, 'webhook secrets'),
    pageTokenKeys: deriveKeys(keys, 'webhooks page tokens'),
    topic: `${settings.KAFKA_PREFIX}.resource-events.v1`,
    group: `${settings.KAFKA_PREFIX}-webhooks`,
    partitions: settings.EVENT_PARTITIONS,
    replication: settings.EVENT_REPLICATION,
    egress: { allowHttp: settings.WEBHOOK_ALLOW_HTTP, allowCidrs: settings.WEBHOOK_ALLOW_CIDRS },
    eraseOnDelete: settings.ERASE_ON_DELETE,
    releaseLeases: false,
  };
}

function orSettingsError<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new SettingsError(`${prefix}${(error as Error).message}`);
  }
}
