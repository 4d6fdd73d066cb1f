import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { createClient, createRpcSecurity, type RpcClient } from '@rms/rpc';
import { readSettings, type Settings } from '@rms/service';
import { operatorContext } from './operator.ts';
import { note } from './print.ts';

/** The services, as a command calls them. */
export interface Services {
  readonly workspaces: RpcClient<typeof WorkspacesService>;
  readonly keys: RpcClient<typeof KeysService>;
  readonly plans: RpcClient<typeof PlansService>;
  readonly audit: RpcClient<typeof AuditService>;
  readonly webhooks: RpcClient<typeof WebhooksService>;
  readonly deliveries: RpcClient<typeof DeliveriesService>;
  readonly secrets: RpcClient<typeof SecretsService>;
}

const timeoutMs = 15_000;

/** Runs `work` with clients of the services, and closes them. */
export async function withServices<T>(work: (services: Services) => Promise<T>): Promise<T> {
  const settings = readSettings(process.env);
  const { auth, webhooks } = addresses(settings);
  const say = (_: object, message: string) => note(message);
  const log = { info() {}, warn: say, error: say };
  const common = { timeoutMs, context: operatorContext(), security: createRpcSecurity(settings, log) };
  const services: Services = {
    workspaces: createClient(WorkspacesService, { target: auth, ...common }),
    keys: createClient(KeysService, { target: auth, ...common }),
    plans: createClient(PlansService, { target: auth, ...common }),
    audit: createClient(AuditService, { target: auth, ...common }),
    webhooks: createClient(WebhooksService, { target: webhooks, ...common }),
    deliveries: createClient(DeliveriesService, { target: webhooks, ...common }),
    secrets: createClient(SecretsService, { target: webhooks, ...common }),
  };
  try {
    return await work(services);
  } finally {
    for (const client of Object.values(services)) client.close();
  }
}

/** What the environment names; else what a service that runs on this machine has written into DATA_DIR; else the defaults. */
function addresses(settings: Settings): { auth: string; webhooks: string } {
  const local = process.env.AUTH_ADDRESS || process.env.WEBHOOKS_ADDRESS ? {} : readLocal(settings.DATA_DIR);
  return { auth: local.auth ?? settings.AUTH_ADDRESS, webhooks: local.webhooks ?? settings.WEBHOOKS_ADDRESS };
}

function readLocal(dataDir: string): { auth?: string; webhooks?: string } {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'services.json'), 'utf8'));
  } catch {
    return {};
  }
}
