import { createMemoryLimiter, type Limiter } from '@rms/limiter';
import { type RpcServer, type rpcService, serve } from '@rms/rpc';
import { createLogger, readSettings } from '@rms/service';
import { type Contract, createContract } from '../../../../test/api/support/openapi-contract.ts';
import { createGateway, createGatewayContext, type GatewayService, readGatewayConfig } from '../../src/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { FakeAuth, type FakeKey } from './fake-auth.ts';
import { FakeEvents } from './fake-events.ts';
import { FakeResources } from './fake-resources.ts';
import { FakeUsage } from './fake-usage.ts';
import { FakeWebhooks } from './fake-webhooks.ts';
import { type SendOptions, send, type WireAnswer } from './wire.ts';

/** A gateway on gRPC servers whose answers the test decides. */
export interface TestGateway {
  readonly gateway: GatewayService;
  readonly auth: FakeAuth;
  readonly resources: FakeResources;
  readonly webhooks: FakeWebhooks;
  readonly events: FakeEvents;
  readonly usage: FakeUsage;
  readonly limiter: Limiter;
  readonly servers: Readonly<Record<'auth' | 'resources' | 'webhooks' | 'alerts', RpcServer>>;
  /** What it has logged. */
  readonly lines: readonly Record<string, unknown>[];
  /** Sends to the live listener, and holds the answer to the OpenAPI document. */
  send(method: string, path: string, options?: SendOptions): Promise<WireAnswer>;
  /** Changes a key as auth does: gateways hear of it by a mark. */
  change(key: FakeKey, changes: Partial<Pick<FakeKey, 'verdict' | 'allowedIps' | 'limits'>>): Promise<void>;
  stop(): Promise<void>;
}

export async function startGateway(
  options: { env?: Record<string, string>; limiter?: Limiter } = {},
): Promise<TestGateway> {
  const [auth, resources] = [new FakeAuth(), new FakeResources()];
  const [webhooks, events, usage] = [new FakeWebhooks(), new FakeEvents(), new FakeUsage()];
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
    auth: await start(auth.service, auth.usesService, auth.requestsService),
    resources: await start(resources.service),
    webhooks: await start(webhooks.service, events.service),
    alerts: await start(usage.service),
  };
  const settings = {
    ...readSettings({ ...options.env }),
    AUTH_ADDRESS: servers.auth.address,
    RESOURCES_ADDRESS: servers.resources.address,
    WEBHOOKS_ADDRESS: servers.webhooks.address,
    ALERTS_ADDRESS: servers.alerts.address,
  };
  const limiter =
    options.limiter ??
    createMemoryLimiter({
      rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
      rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
      monthlyQuota: settings.MONTHLY_QUOTA,
      authFailureLimit: settings.AUTH_FAILURE_LIMIT,
    });
  const config = { ...readGatewayConfig(settings), livePort: 0, sandboxPort: 0 };
  const gateway = createGateway(config, createGatewayContext(settings, { log, limiter }));
  await gateway.start();
  return {
    gateway,
    auth,
    resources,
    webhooks,
    events,
    usage,
    limiter,
    servers,
    lines,
    async send(method, path, sendOptions) {
      const answer = await send(gateway.addresses.live, method, path, sendOptions);
      contract.check({ ...answer, method, path });
      return answer;
    },
    async change(key, changes) {
      Object.assign(key, changes, { version: key.version + 1 });
      await limiter.mark([key]);
    },
    async stop() {
      await gateway.stop();
      await Promise.all(Object.values(servers).map((server) => server.stop(0)));
    },
  };
}

export const contract: Contract = createContract(openApiDocument() as Parameters<typeof createContract>[0]);
