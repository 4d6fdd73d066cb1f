import { type Keys, readKeyRing } from '@rms/secrets';
import { type MetricsAddress, orSettingsError, requireSettings, type Settings } from '@rms/service';
import { readEgressConfig } from './egress/config.ts';
import type { EgressConfig } from './egress/egress.ts';

export interface WebhooksConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Seal and open secrets. */
  readonly secretKeys: Keys;
  /** Authenticate page tokens. */
  readonly pageTokenKeys: Keys;
  readonly topic: string;
  /** Where records go that cannot be used. */
  readonly deadLetterTopic: string;
  /** Where notices to owners go. */
  readonly noticeTopic: string;
  /** The consumer group that all instances share. */
  readonly group: string;
  readonly partitions: number;
  readonly replication: number;
  readonly egress: EgressConfig;
  readonly eraseOnDelete: boolean;
  /** How long the log and the feed are kept. */
  readonly retentionDays: number;
  /** A webhook that has failed for so long is disabled; 0: never. */
  readonly disableAfterHours: number;
  /** Take over what another instance has leased, at the start: right only where there is no other instance. */
  readonly releaseLeases: boolean;
}

export function readWebhooksConfig(settings: Settings): WebhooksConfig {
  requireSettings(settings, 'ENCRYPTION_KEY');
  const ring = orSettingsError(() => readKeyRing(settings.ENCRYPTION_KEY, settings.ENCRYPTION_KEY_PREVIOUS));
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    secretKeys: ring.derive('webhook secrets'),
    pageTokenKeys: ring.derive('webhooks page tokens'),
    topic: `${settings.KAFKA_PREFIX}.resource-events.v1`,
    deadLetterTopic: `${settings.KAFKA_PREFIX}.dead-letters.v1`,
    noticeTopic: `${settings.KAFKA_PREFIX}.notices.v1`,
    group: `${settings.KAFKA_PREFIX}-webhooks`,
    partitions: settings.EVENT_PARTITIONS,
    replication: settings.EVENT_REPLICATION,
    egress: readEgressConfig(settings),
    eraseOnDelete: settings.ERASE_ON_DELETE,
    retentionDays: settings.LOG_RETENTION_DAYS,
    disableAfterHours: settings.WEBHOOK_DISABLE_AFTER_HOURS,
    releaseLeases: false,
  };
}
