import { createMemoryLimiter, type Limiter } from '@rms/limits';
import { type RpcServer, type rpcService, serve } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { type Contract, createContract } from '../../../../test/api/support/openapi-contract.ts';
import {
  type CallTimeouts,
  createGateway,
  createGatewayContext,
  type GatewayService,
  readGatewayConfig,
} from '../../src/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { FakeAlerts } from './fake-alerts.ts';
import { FakeAuth, type FakeKey } from './fake-auth.ts';
import { FakeDeliveries } from './fake-deliveries.ts';
import { FakeEvents } from './fake-events.ts';
import { FakeResources } from './fake-resources.ts';
import { FakeUsage } from './fake-usage.ts';
import { FakeWebhooks } from './fake-webhooks.ts';
import { type SendOptions, send, type WireResponse } from './wire.ts';

/** A gateway with fake services behind it. */
export interface TestGateway {
  readonly gateway: GatewayService;
  readonly auth: FakeAuth;
  readonly resources: FakeResources;
  readonly webhooks: FakeWebhooks;
  readonly deliveries: FakeDeliveries;
  readonly events: FakeEvents;
  readonly usage: FakeUsage;
  readonly alerts: FakeAlerts;
  readonly limiter: Limiter;
  readonly servers: Readonly<Record<'auth' | 'resources' | 'webhooks' | 'alerts', RpcServer>>;
  /** Log entries. */
  readonly lines: readonly Record<string, unknown>[];
  /** Sends a request to the live listener, and validates the response against the OpenAPI document. */
  send(method: string, path: string, options?: SendOptions): Promise<WireResponse>;
  /** Changes a key and sets its revocation marker, as auth does. */
  change(key: FakeKey, changes: Partial<Pick<FakeKey, 'verdict' | 'allowedIps' | 'limits'>>): Promise<void>;
  stop(): Promise<void>;
}

/** Long enough that no call fails only because the machine is busy. */
const patient: CallTimeouts = { rpcMs: 60_000, healthMs: 60_000 };

export async function startGateway(
  options: { env?: Record<string, string>; limiter?: Limiter; timeouts?: CallTimeouts } = {},
): Promise<TestGateway> {
  const [auth, resources] = [new FakeAuth(), new FakeResources()];
  const [webhooks, deliveries, events] = [new FakeWebhooks(), new FakeDeliveries(), new FakeEvents()];
  const [usage, alerts] = [new FakeUsage(), new FakeAlerts()];
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    name: 'gateway',
    level: 'info',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  });
  const start = async (...services: ReturnType<typeof rpcService>[]) => {
    const server = await serve({ host: '127.0.0.1', port: 0, services, log });
    server.health.set(true);
    return server;
  };
  const servers = {
    auth: await start(auth.service, auth.usesService, auth.requestsService, auth.workspacesService, auth.auditService),
    resources: await start(resources.service),
    webhooks: await start(webhooks.service, deliveries.service, events.service),
    alerts: await start(usage.service, alerts.service),
  };
  const settings = {
    ...readSettings({ ...options.env }),
    AUTH_ADDRESS: servers.auth.address,
    RESOURCES_ADDRESS: servers.resources.address,
    WEBHOOKS_ADDRESS: servers.webhooks.address,
    ...(options.env?.ALERTS_ADDRESS ? {} : { ALERTS_ADDRESS: servers.alerts.address }),
  };
  const limiter =
    options.limiter ??
    createMemoryLimiter({
      rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
      workspaceRateLimitRequests: settings.WORKSPACE_RATE_LIMIT_REQUESTS,
      rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
      monthlyQuota: settings.MONTHLY_QUOTA,
      authFailureLimit: settings.AUTH_FAILURE_LIMIT,
    });
  const config = { ...readGatewayConfig(settings), livePort: 0, sandboxPort: 0 };
  const gateway = createGateway(config, createGatewayContext(settings, { log, limiter }, options.timeouts ?? patient));
  await gateway.start();
  return {
    gateway,
    auth,
    resources,
    webhooks,
    deliveries,
    events,
    usage,
    alerts,
    limiter,
    servers,
    lines,
    async send(method, path, sendOptions) {
      const response = await send(gateway.addresses.live, method, path, sendOptions);
      contract.check({ ...response, method, path });
      return response;
    },
    async change(key, changes) {
      Object.assign(key, changes, { version: key.version + 1 });
      await limiter.setMarkers([key]);
    },
    async stop() {
      await gateway.stop();
      await Promise.all(Object.values(servers).map((server) => server.stop(0)));
    },
  };
}

export const contract: Contract = createContract(openApiDocument() as Parameters<typeof createContract>[0]);
