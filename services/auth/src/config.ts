import { type Keys, readKeyRing } from '@rms/secrets';
import { type MetricsAddress, orSettingsError, requireSettings, type Settings } from '@rms/service';

export interface AuthConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** For how long requests are kept. */
  readonly requestLogDays: number;
  /** Seal second factors and mails. */
  readonly secretKeys: Keys;
  /** Authenticate the first step of a sign-in. */
  readonly challengeKeys: Keys;
  /** Hide whose attempts are counted. */
  readonly throttleKeys: Keys;
}

export function readAuthConfig(settings: Settings): AuthConfig {
  requireSettings(settings, 'ENCRYPTION_KEY');
  const ring = orSettingsError(() => readKeyRing(settings.ENCRYPTION_KEY, settings.ENCRYPTION_KEY_PREVIOUS));
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    requestLogDays: settings.REQUEST_LOG_DAYS,
    secretKeys: ring.derive('auth secrets'),
    challengeKeys: ring.derive('sign-in challenges'),
    throttleKeys: ring.derive('sign-in throttles'),
  };
}
