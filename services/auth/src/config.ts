import type { Settings } from '@rms/service';

export interface AuthConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export function readAuthConfig(settings: Settings): AuthConfig {
  return { host: settings.GRPC_HOST, port: settings.GRPC_PORT };
}
