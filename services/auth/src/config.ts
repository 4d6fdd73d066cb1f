import type { MetricsAddress, Settings } from '@rms/service';

export interface AuthConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  /** For how long requests are kept. */
  readonly requestLogDays: number;
}

export function readAuthConfig(settings: Settings): AuthConfig {
  return {
    host: settings.GRPC_HOST,
    port: settings.GRPC_PORT,
    metricsAddress: settings.METRICS_ADDRESS,
    requestLogDays: settings.REQUEST_LOG_DAYS,
  };
}
