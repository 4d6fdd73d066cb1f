import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRpcSecurity, type RpcSecurity } from '@rms/rpc';

/** Services of a running `npm start` or `npm run start:services`. */
export interface LocalServices {
  readonly auth: string;
  readonly resources: string;
  readonly webhooks: string;
  readonly alerts: string;
  /** Security of clients, with the services' token. */
  readonly security: RpcSecurity;
}

/** Reads the services.json of a running installation. */
export function localServices(dataDir: string): LocalServices {
  const { token, ...addresses } = JSON.parse(readFileSync(join(dataDir, 'services.json'), 'utf8'));
  const settings = { GRPC_CERT_FILE: '', GRPC_KEY_FILE: '', GRPC_CA_FILE: '', INSECURE_GRPC: false, GRPC_TOKEN: token };
  return { ...addresses, security: createRpcSecurity(settings, { info() {}, warn() {}, error() {} }) };
}
