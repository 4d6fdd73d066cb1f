import type { Keys } from '@rms/base/secrets';
import type { MetricsAddress } from '@rms/runtime/service';
import { readEncryptionKeys, type Settings } from '@rms/runtime/settings';

export interface AuthConfig {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** If undefined, no metrics are served. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** Retention of the request log. */
  readonly requestLogDays: number;
  /** Valid keys per workspace with a plan without a limit; 0: no limit. */
  readonly maxKeys: number;
  /** Members per workspace; 0: no limit. */
  readonly maxMembers: number;
  /** Open invitations per workspace; 0: no limit. */
  readonly maxInvitations: number;
  /** Keys that encrypt second factor secrets and queued emails. */
  readonly secretKeys: Keys;
  /** Keys that authenticate the challenge returned by the first step of a sign-in. */
  readonly challengeKeys: Keys;
  /** Keys that authenticate page tokens. */
  readonly pageTokenKeys: Keys;
  /**
   * Keys of the HMACs that replace the subjects in the throttle table, so that the table reveals no account or address.
   */
  readonly throttleKeys: Keys;
}

export function readAuthConfig(settings: Settings): AuthConfig {
  const keys = readEncryptionKeys(settings);
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    requestLogDays: settings.REQUEST_LOG_DAYS,
    maxKeys: settings.MAX_KEYS_PER_WORKSPACE,
    maxMembers: settings.MAX_MEMBERS_PER_WORKSPACE,
    maxInvitations: settings.MAX_INVITATIONS_PER_WORKSPACE,
    secretKeys: keys.derive('auth secrets'),
    challengeKeys: keys.derive('sign-in challenges'),
    pageTokenKeys: keys.derive('auth page tokens'),
    throttleKeys: keys.derive('sign-in throttles'),
  };
}
