import { type ExecFileException, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate, timestampNow } from '@bufbuild/protobuf/wkt';
import { createAlerts, createAlertsContext, readAlertsConfig } from '@rms/alerts';
import { migrations as alertsMigrations } from '@rms/alerts/migrations';
import { createAuth, createAuthContext, readAuthConfig } from '@rms/auth';
import { migrations as authMigrations } from '@rms/auth/migrations';
import { createInProcessBus } from '@rms/bus';
import { createMemoryLimiter, type Limiter } from '@rms/limits';
import { migrations as auditMigrations } from '@rms/postgres/audit';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { createResources, createResourcesContext, readResourcesConfig } from '@rms/resources';
import { outboxMigrations, migrations as resourcesMigrations } from '@rms/resources/migrations';
import { createClient } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { type Outcome, programEnv, startCommands, testDatabase, testPool, waitUntil } from '@rms/testkit';
import { createWebhooks, createWebhooksContext, readWebhooksConfig } from '@rms/webhooks';
import { migrations as webhookMigrations } from '@rms/webhooks/migrations';
import { operatorContext } from '../src/operator.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Runs `rms` as a process, with the settings in `env`, without the developer's settings, and with `input` on stdin. */
export function runRms(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input: string | Buffer = '',
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [main, ...args], { env: programEnv(env) }, (error, stdout, stderr) =>
      resolve({ code: Number((error as ExecFileException | null)?.code ?? 0), stdout, stderr }),
    );
    // Fails with EPIPE if the command closes stdin early.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** Running command that does not end by itself. */
export interface RunningRms {
  /** Returns the complete lines so far. */
  stdout(): string[];
  stderr(): string[];
  /** Waits until `count` lines have been printed and returns them. */
  printed(count: number): Promise<string[]>;
  /** Sends SIGINT, as Ctrl-C does. Resolves with the exit code. */
  interrupt(): Promise<number | null>;
}

function startRms(args: readonly string[], env: Readonly<Record<string, string>>): RunningRms {
  const child = spawn(process.execPath, [main, ...args], { env: programEnv(env) });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  const closed = once(child, 'close') as Promise<[number | null]>;
  const lines = (name: keyof typeof texts) => texts[name].split('\n').slice(0, -1);
  return {
    stdout: () => lines('stdout'),
    stderr: () => lines('stderr'),
    printed: (count) =>
      waitUntil(() => (lines('stdout').length >= count ? lines('stdout') : undefined), { what: `${count} lines` }),
    async interrupt() {
      child.kill('SIGINT');
      return (await closed)[0];
    },
  };
}

export type TestServices = Awaited<ReturnType<typeof startServices>>;

/** Starts auth, alerts, webhooks and resources on a real database, with a DATA_DIR that contains their addresses. */
export async function startServices() {
  const log = createLogger({ name: 'test', level: 'silent' });
  const database = await testDatabase([
    ...[auditMigrations, outboxMigrations, authMigrations],
    ...[resourcesMigrations, webhookMigrations, alertsMigrations],
  ]);
  const pool = () => testPool({ url: database.url, max: 5, applicationName: 'cli-test', log });
  const settings = readSettings({
    ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  });
  const memory = createMemoryLimiter({
    rateLimitRequests: 0,
    workspaceRateLimitRequests: 0,
    rateLimitWindowSeconds: 60,
    monthlyQuota: 0,
    authFailureLimit: 0,
  });
  let limiterUnavailable = false;
  const reached = <T>(call: () => Promise<T>) => (limiterUnavailable ? Promise.reject(new Error('away')) : call());
  const limiter: Limiter = {
    ...memory,
    setMarkers: (changes) => reached(() => memory.setMarkers(changes)),
    confirmEveryMs: 1_000,
    confirmMarkers: (setAll) => reached(() => memory.confirmMarkers(setAll)),
  };
  const auth = createAuth(readAuthConfig(settings), createAuthContext(settings, { pool: pool(), limiter, log }));
  const startWebhooks = async () => {
    const bus = createInProcessBus({ log });
    const service = createWebhooks(
      readWebhooksConfig(settings),
      createWebhooksContext(settings, { pool: pool(), keyedPool: pool(), bus, log, operational: {} }),
    );
    await service.start();
    return { service, bus };
  };
  await auth.start();
  const alerts = createAlerts(
    readAlertsConfig(settings),
    createAlertsContext(
      { ...settings, AUTH_ADDRESS: auth.address },
      { pool: pool(), limiter: memory, bus: createInProcessBus({ log }), log },
    ),
  );
  await alerts.start();
  // Without a consumer, events of resources stay in the outbox.
  const outboxBus = createInProcessBus({ log });
  const resources = createResources(
    readResourcesConfig(settings),
    createResourcesContext(settings, { pool: pool(), keyedPool: pool(), bus: outboxBus, log }),
  );
  await resources.start();
  let running = await startWebhooks();
  const webhooks = running.service;
  const dataDir = mkdtempSync(join(tmpdir(), 'rms-cli-'));
  const addresses = {
    auth: auth.address,
    webhooks: webhooks.address,
    alerts: alerts.address,
    resources: resources.address,
  };
  const servicesFile = join(dataDir, 'services.json');
  writeFileSync(servicesFile, JSON.stringify(addresses));
  const clients = {
    workspaces: createClient(WorkspacesService, { target: auth.address, timeoutMs: 60_000 }),
    deletion: createClient(WorkspaceDeletionService, { target: auth.address, timeoutMs: 60_000 }),
    keys: createClient(KeysService, { target: auth.address, timeoutMs: 60_000 }),
    keyUses: createClient(KeyUsesService, { target: auth.address, timeoutMs: 60_000 }),
    resources: createClient(ResourcesService, { target: resources.address, timeoutMs: 60_000 }),
    webhooks: createClient(WebhooksService, { target: webhooks.address, timeoutMs: 60_000 }),
    deliveries: createClient(DeliveriesService, { target: webhooks.address, timeoutMs: 60_000 }),
    feed: createClient(EventsService, { target: webhooks.address, timeoutMs: 60_000 }),
  };
  const commands = startCommands();
  const rms = (...args: string[]) => commands.run(args, programEnv({ DATA_DIR: dataDir }));
  const rmsReading = (input: string | Buffer, ...args: string[]) => runRms(args, { DATA_DIR: dataDir }, input);
  return {
    ...clients,
    addresses,
    rms,
    /** Runs a command with additional environment variables. */
    rmsWith: (env: Readonly<Record<string, string>>, ...args: string[]) =>
      commands.run(args, programEnv({ DATA_DIR: dataDir, ...env })),
    /** Starts a command that does not end by itself, with additional environment variables. */
    start: (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      startRms(args, { DATA_DIR: dataDir, ...env }),
    /**
     * Restarts webhooks at another address, as npm start does. `meanwhile` runs before commands can know the new
     * address. The clients here keep the old address.
     */
    async restartWebhooks(meanwhile: () => Promise<void>) {
      rmSync(servicesFile);
      await running.service.stop();
      running = await startWebhooks();
      await meanwhile();
      writeFileSync(servicesFile, JSON.stringify({ ...addresses, webhooks: running.service.address }));
    },
    /** Runs a command with input on stdin. */
    rmsReading,
    /**
     * Returns the JSON output of a command: a single result's document, or `{ data }` for a list. Throws if the
     * command fails or writes to stderr.
     */
    async json(...args: string[]) {
      const { code, stdout, stderr } = await rms(...args, '--json');
      if (code !== 0 || stderr !== '') throw new Error(`rms ${args.join(' ')}: ${code} ${stderr}`);
      const document = JSON.parse(stdout);
      return Array.isArray(document.data) ? document : document.data;
    },
    /** Creates a workspace and returns its ID. */
    async createWorkspace(name = 'w') {
      return (await clients.workspaces.createWorkspace({ name })).workspace?.id ?? '';
    },
    /** Creates a sandbox key with scope `read`. `key` is its value. */
    async createKey(workspaceId: string, name = 'k') {
      const request = { workspaceId, environment: Environment.SANDBOX, scope: Scope.READ, name };
      const { key, keyValue } = await clients.keys.createKey(request, { context: operatorContext() });
      return { workspaceId, id: key?.id ?? '', key: keyValue };
    },
    /** Reports a sandbox key's use, as gateways do. */
    async use(key: { workspaceId: string; id: string }, address: string, userAgent: string, at = new Date()) {
      const environment = Environment.SANDBOX;
      const lastUseTime = timestampFromDate(at);
      const use = { workspaceId: key.workspaceId, keyId: key.id, environment, address, userAgent, lastUseTime };
      await clients.keyUses.batchReportKeyUses({ uses: [{ ...use, requests: 1n }] });
    },
    setLimiterUnavailable(isUnavailable: boolean) {
      limiterUnavailable = isUnavailable;
    },
    /**
     * Publishes events of a single request, as the relay does, each of a resource with the event's random part in its ID.
     * Resolves when their deliveries are stored.
     */
    async publish(workspaceId: string, requestId: string, ...events: (string | { id: string; type: string })[]) {
      const records = events.map((one) => {
        const { id, type } = typeof one === 'string' ? { id: one, type: 'resource.created' } : one;
        const resourceId = id.replace('evt_', 'res_');
        const event = create(ResourceEventSchema, {
          id,
          type,
          workspaceId,
          environment: Environment.SANDBOX,
          resourceId,
          sequence: 1n,
          createTime: timestampNow(),
          requestId,
          body: Buffer.from(JSON.stringify({ id, type, data: { object: { id: resourceId, name: 'Grüße' } } })),
        });
        return { key: resourceId, value: toBinary(ResourceEventSchema, event), headers: { 'event-id': id } };
      });
      const topic = 'rms.resource-events.v1';
      await running.bus.publish({ topic, partition: 0, records }, AbortSignal.timeout(60_000));
    },
    /** Inserts a dead letter without a workspace, and one of a workspace. */
    async insertDeadLetters(workspaceId: string) {
      const db = pool();
      await db.query(
        `insert into webhooks.dead_letters (workspace_id, environment, digest, topic, bus_partition, bus_offset, key,
                                            value, headers, parked, reason, error)
         select workspace_id, environment, sha256(value), 'rms.resource-events.v1', 2, 7, 'res_1', value,
                '{"event-id": "evt_1"}', false, 'refused', 'too long'
           from (values ('', '', '\\xff00'::bytea), ($1, 'live', '\\xff01')) as v (workspace_id, environment, value)`,
        [workspaceId],
      );
      await db.end();
    },
    /** Erases the body of an event, as ERASE_ON_DELETE does when its resource is deleted. */
    async erase(eventId: string) {
      const db = pool();
      await db.query('update webhooks.events set body = null where id = $1', [eventId]);
      await db.end();
    },
    /** Opens a webhook's circuit, as an instance does after many consecutive failures. */
    async openCircuit(webhookId: string) {
      const db = pool();
      await db.query('update webhooks.webhooks set failing_since = now() where id = $1', [webhookId]);
      await db.query(
        `insert into webhooks.endpoints (webhook_id, workspace_id, environment, pause_ms, open_since)
         select id, workspace_id, environment, 10000, now() from webhooks.webhooks where id = $1
             on conflict (webhook_id) do update set pause_ms = 10000, open_since = now()`,
        [webhookId],
      );
      await db.end();
    },
    async stop() {
      await commands.stop();
      for (const client of Object.values(clients)) client.close();
      await outboxBus.stop();
      await Promise.all([alerts.stop(), running.service.stop(), resources.stop()]);
      await auth.stop();
      await database.drop();
      rmSync(dataDir, { recursive: true });
    },
  };
}
