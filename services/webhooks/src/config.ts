import type { Keys } from '@rms/base/secrets';
import type { EgressConfig } from '@rms/net/guarded-http';
import { readEgressConfig } from '@rms/net/guarded-http';
import type { MetricsAddress } from '@rms/runtime/service';
import { readEncryptionKeys, type Settings } from '@rms/runtime/settings';

export interface WebhooksConfig {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** If undefined, metrics are not exposed. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Keys that encrypt and decrypt webhook secrets. */
  readonly secretKeys: Keys;
  /** Keys that authenticate page tokens. */
  readonly pageTokenKeys: Keys;
  readonly topic: string;
  /** The topic for notices to webhook owners. */
  readonly noticeTopic: string;
  /** The consumer group that all instances share. */
  readonly group: string;
  readonly partitions: number;
  readonly replication: number;
  readonly egress: EgressConfig;
  readonly eraseOnDelete: boolean;
  /** Retention of the delivery log and the event feed. */
  readonly retentionDays: number;
  /** A webhook is disabled after it has failed for this long. 0 means never. */
  readonly disableAfterHours: number;
  /** Maximum number of webhooks per workspace. 0 means no limit. */
  readonly maxWebhooks: number;
  /** Whether to release the leases of all instances at startup. Correct only if no other instance is running. */
  readonly releaseLeases: boolean;
}

export function readWebhooksConfig(settings: Settings): WebhooksConfig {
  const keys = readEncryptionKeys(settings);
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    secretKeys: keys.derive('webhook secrets'),
    pageTokenKeys: keys.derive('webhooks page tokens'),
    topic: `${settings.KAFKA_PREFIX}.resource-events.v1`,
    noticeTopic: `${settings.KAFKA_PREFIX}.notices.v1`,
    group: `${settings.KAFKA_PREFIX}-webhooks`,
    partitions: settings.EVENT_PARTITIONS,
    replication: settings.EVENT_REPLICATION,
    egress: readEgressConfig(settings),
    eraseOnDelete: settings.ERASE_ON_DELETE,
    retentionDays: settings.LOG_RETENTION_DAYS,
    disableAfterHours: settings.WEBHOOK_DISABLE_AFTER_HOURS,
    maxWebhooks: settings.MAX_WEBHOOKS_PER_WORKSPACE,
    releaseLeases: false,
  };
}
