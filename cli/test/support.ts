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
import { migrations as auditMigrations } from '@rms/audit';
import { createAuth, createAuthContext, readAuthConfig } from '@rms/auth';
import { migrations as authMigrations } from '@rms/auth/migrations';
import { createInProcessBus } from '@rms/bus';
import { createPool } from '@rms/db';
import { createMemoryLimiter, type KeyChange } from '@rms/limiter';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { createClient } from '@rms/rpc';
import { createLogger, readSettings } from '@rms/service';
import { testDatabase, waitUntil } from '@rms/testkit';
import { createWebhooks, createWebhooksContext, readWebhooksConfig } from '@rms/webhooks';
import { migrations as webhookMigrations } from '@rms/webhooks/migrations';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** What the command has printed, and its exit code. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command with these settings and none of the machine's, and this on stdin. `npm test` builds it. */
export function runRms(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input: string | Buffer = '',
): Promise<Outcome> {
  return new Promise((resolve) => {
    const settings = { PATH: process.env.PATH, ...env };
    const child = execFile(process.execPath, [main, ...args], { env: settings }, (error, stdout, stderr) =>
      resolve({ code: Number((error as ExecFileException | null)?.code ?? 0), stdout, stderr }),
    );
    // A command that has read enough closes it.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** A command that runs until it is ended. */
export interface RunningRms {
  /** The complete lines so far. */
  stdout(): string[];
  stderr(): string[];
  /** Waits until so many lines have been printed, and returns them. */
  printed(count: number): Promise<string[]>;
  /** As Ctrl-C does; resolves with the exit code. */
  interrupt(): Promise<number | null>;
}

function startRms(args: readonly string[], env: Readonly<Record<string, string>>): RunningRms {
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env.PATH, ...env } });
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

/** The real auth and webhooks on a real database, and a DATA_DIR by which the command finds them. */
export async function startServices() {
  const log = createLogger({ name: 'test', level: 'silent' });
  const database = await testDatabase([auditMigrations, authMigrations, webhookMigrations, alertsMigrations]);
  const pool = () => createPool({ url: database.url, max: 5, applicationName: 'cli-test', log });
  const settings = readSettings({
    ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  });
  const memory = createMemoryLimiter({
    rateLimitRequests: 0,
    rateLimitWindowSeconds: 60,
    monthlyQuota: 0,
    authFailureLimit: 0,
  });
  let limiterAway = false;
  const limiter = {
    ...memory,
    mark: (changes: readonly KeyChange[]) => (limiterAway ? Promise.reject(new Error('away')) : memory.mark(changes)),
  };
  const auth = createAuth(readAuthConfig(settings), createAuthContext(settings, { pool: pool(), limiter, log }));
  const startWebhooks = async () => {
    const bus = createInProcessBus({ log });
    const service = createWebhooks(
      readWebhooksConfig(settings),
      createWebhooksContext(settings, { pool: pool(), keyedPool: pool(), bus, log }),
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
  let running = await startWebhooks();
  const webhooks = running.service;
  const dataDir = mkdtempSync(join(tmpdir(), 'rms-cli-'));
  const addresses = {
    auth: auth.address,
    webhooks: webhooks.address,
    alerts: alerts.address,
    resources: '127.0.0.1:1',
  };
  const servicesFile = join(dataDir, 'services.json');
  writeFileSync(servicesFile, JSON.stringify(addresses));
  const clients = {
    workspaces: createClient(WorkspacesService, { target: auth.address, timeoutMs: 10_000 }),
    keys: createClient(KeysService, { target: auth.address, timeoutMs: 10_000 }),
    keyUses: createClient(KeyUsesService, { target: auth.address, timeoutMs: 10_000 }),
    webhooks: createClient(WebhooksService, { target: webhooks.address, timeoutMs: 10_000 }),
    deliveries: createClient(DeliveriesService, { target: webhooks.address, timeoutMs: 10_000 }),
    feed: createClient(EventsService, { target: webhooks.address, timeoutMs: 60_000 }),
  };
  const rms = (...args: string[]) => runRms(args, { DATA_DIR: dataDir });
  const rmsReading = (input: string | Buffer, ...args: string[]) => runRms(args, { DATA_DIR: dataDir }, input);
  return {
    ...clients,
    addresses,
    rms,
    /** Starts a command that runs until it is ended, with further settings. */
    start: (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      startRms(args, { DATA_DIR: dataDir, ...env }),
    /**
     * Stops webhooks, and starts it again at another address, as npm start does. `meanwhile` runs before commands can know
     * the new address; the clients here stay at the old one.
     */
    async restartWebhooks(meanwhile: () => Promise<void>) {
      rmSync(servicesFile);
      await running.service.stop();
      running = await startWebhooks();
      await meanwhile();
      writeFileSync(servicesFile, JSON.stringify({ ...addresses, webhooks: running.service.address }));
    },
    /** The same with something on stdin. */
    rmsReading,
    /** The document that a command prints with --json; fails if it prints anything else. */
    async json(...args: string[]) {
      const { code, stdout, stderr } = await rms(...args, '--json');
      if (code !== 0 || stderr !== '') throw new Error(`rms ${args.join(' ')}: ${code} ${stderr}`);
      return JSON.parse(stdout);
    },
    /** Reports that a key of the sandbox was used, as gateways do. */
    async use(key: { workspaceId: string; id: string }, address: string, userAgent: string, at = new Date()) {
      const environment = Environment.SANDBOX;
      const lastUseTime = timestampFromDate(at);
      const use = { workspaceId: key.workspaceId, keyId: key.id, environment, address, userAgent, lastUseTime };
      await clients.keyUses.batchReportKeyUses({ uses: [{ ...use, requests: 1n }] });
    },
    setLimiterAway(isAway: boolean) {
      limiterAway = isAway;
    },
    /** Publishes events of one request, as the relay does; resolves when their deliveries are stored. */
    async publish(workspaceId: string, requestId: string, ...events: (string | { id: string; type: string })[]) {
      const resourceId = `res_${'0'.repeat(26)}`;
      const records = events.map((one) => {
        const { id, type } = typeof one === 'string' ? { id: one, type: 'resource.created' } : one;
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
      await running.bus.publish({ topic, partition: 0, records }, AbortSignal.timeout(10_000));
    },
    /** Erases the body of an event, as a deleted resource does with ERASE_ON_DELETE. */
    async erase(eventId: string) {
      const db = pool();
      await db.query('update webhooks.events set body = null where id = $1', [eventId]);
      await db.end();
    },
    /** As an instance notes of an endpoint that has failed many times in a row. */
    async openCircuit(webhookId: string) {
      const db = pool();
      await db.query('update webhooks.webhooks set failing_since = now(), circuit_open_since = now() where id = $1', [
        webhookId,
      ]);
      await db.end();
    },
    async stop() {
      for (const client of Object.values(clients)) client.close();
      await Promise.all([alerts.stop(), running.service.stop()]);
      await auth.stop();
      await database.drop();
      rmSync(dataDir, { recursive: true });
    },
  };
}
