import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RmsError } from '@rms/errors';
import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService as AlertsSecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { SecretsService as AuthSecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
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
  readonly users: RpcClient<typeof UsersService>;
  readonly authSecrets: RpcClient<typeof AuthSecretsService>;
  readonly requests: RpcClient<typeof RequestsService>;
  readonly events: RpcClient<typeof EventsService>;
  readonly webhooks: RpcClient<typeof WebhooksService>;
  readonly deliveries: RpcClient<typeof DeliveriesService>;
  readonly secrets: RpcClient<typeof SecretsService>;
  /** Undefined: this installation has no alerts; see {@link alertsOf}. */
  readonly alerts: RpcClient<typeof AlertsService> | undefined;
  /** Undefined as well then. */
  readonly alertsSecrets: RpcClient<typeof AlertsSecretsService> | undefined;
}

/** Makes a client of the feed where webhooks listens now, for the caller to close; `service_unavailable`: nowhere. */
export type OpenFeed = () => RpcClient<typeof EventsService>;

const timeoutMs = 15_000;

/** Runs `work` with clients of the services, and closes them. */
export async function withServices<T>(work: (services: Services, openFeed: OpenFeed) => Promise<T>): Promise<T> {
  const settings = readSettings(process.env);
  const { auth, webhooks, alerts, isLocal } = addresses(settings);
  const say = (_: object, message: string) => note(message);
  const log = { info() {}, warn: say, error: say };
  const common = { timeoutMs, context: operatorContext(), security: createRpcSecurity(settings, log) };
  const services: Services = {
    workspaces: createClient(WorkspacesService, { target: auth, ...common }),
    keys: createClient(KeysService, { target: auth, ...common }),
    plans: createClient(PlansService, { target: auth, ...common }),
    audit: createClient(AuditService, { target: auth, ...common }),
    users: createClient(UsersService, { target: auth, ...common }),
    authSecrets: createClient(AuthSecretsService, { target: auth, ...common }),
    requests: createClient(RequestsService, { target: auth, ...common }),
    events: createClient(EventsService, { target: webhooks, ...common }),
    webhooks: createClient(WebhooksService, { target: webhooks, ...common }),
    deliveries: createClient(DeliveriesService, { target: webhooks, ...common }),
    secrets: createClient(SecretsService, { target: webhooks, ...common }),
    alerts: alerts === undefined ? undefined : createClient(AlertsService, { target: alerts, ...common }),
    alertsSecrets: alerts === undefined ? undefined : createClient(AlertsSecretsService, { target: alerts, ...common }),
  };
  const openFeed = () => {
    const now = addresses(settings);
    // What npm start has written goes with it, and at the default address there would be another installation.
    if (isLocal && !now.isLocal) throw new RmsError('service_unavailable');
    return createClient(EventsService, { target: now.webhooks, ...common });
  };
  try {
    return await work(services, openFeed);
  } finally {
    for (const client of Object.values(services)) client?.close();
  }
}

/** For commands that are nothing without it. Throws an error that says that there is none. */
export function alertsOf({ alerts }: Services): RpcClient<typeof AlertsService> {
  if (alerts) return alerts;
  throw new RmsError('service_unavailable', { message: 'this installation has no alerts (ALERTS_ADDRESS is none)' });
}

/** What the environment names; else what a service that runs on this machine has written into DATA_DIR; else the defaults. */
function addresses(settings: Settings): {
  auth: string;
  webhooks: string;
  alerts: string | undefined;
  isLocal: boolean;
} {
  const local = process.env.AUTH_ADDRESS || process.env.WEBHOOKS_ADDRESS ? {} : readLocal(settings.DATA_DIR);
  return {
    auth: local.auth ?? settings.AUTH_ADDRESS,
    webhooks: local.webhooks ?? settings.WEBHOOKS_ADDRESS,
    alerts: local.alerts ?? settings.ALERTS_ADDRESS,
    isLocal: local.webhooks !== undefined,
  };
}

function readLocal(dataDir: string): { auth?: string; webhooks?: string; alerts?: string } {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'services.json'), 'utf8'));
  } catch {
    return {};
  }
}
